"""The SDK, with an exporter of our own that several processes can write to."""

import json
import os
import sys
from collections.abc import Sequence

from django.apps import AppConfig
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult


class FileExporter(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with open(os.environ["TRACES"], "a") as file:
            for span in spans:
                file.write(json.dumps(json.loads(span.to_json(indent=None)) | {"pid": os.getpid()}) + "\n")
        return SpanExportResult.SUCCESS


class TracedApp(AppConfig):
    name = "tests.traced_app"

    def ready(self) -> None:
        # Batches are what projects use; from 3.12 on, Python warns of its thread when the worker forks, an error here.
        processor = BatchSpanProcessor if sys.version_info < (3, 12) else SimpleSpanProcessor
        provider = TracerProvider()
        provider.add_span_processor(processor(FileExporter()))
        trace.set_tracer_provider(provider)
