"""How often PostgreSQL cleans our tables: its defaults wait for a fifth of a table to be dead. See docs/operations/database.md."""

from django.db import migrations

# Large tables: after so many rows and two hundredths of the table, not a fifth; what is only inserted (history) is
# cleaned as it grows, so that no later run must do all of it at once.
LARGE = {
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_vacuum_threshold": "1000",
    "autovacuum_vacuum_insert_scale_factor": "0.05",
    "autovacuum_vacuum_insert_threshold": "10000",
    "autovacuum_analyze_scale_factor": "0.02",
    "autovacuum_analyze_threshold": "1000",
}
# Small tables of which a few rows change all the time: the share says nothing there.
HOT = {
    "autovacuum_vacuum_scale_factor": "0",
    "autovacuum_vacuum_threshold": "500",
    "autovacuum_analyze_scale_factor": "0",
    "autovacuum_analyze_threshold": "2000",
}
TABLES = {
    "Job": LARGE,
    "JobEvent": LARGE,
    "PhaseProgress": LARGE,
    "QualityProgress": LARGE,
    "Claim": LARGE,
    "WebhookDelivery": LARGE,
    "WebhookTry": LARGE,
    "QueueDelta": HOT,
    "QueueTotal": HOT,
    "Worker": HOT,
    "ServiceBeat": HOT,
    "Turn": HOT,
}


def alter(change):
    def run(apps, schema_editor):
        if schema_editor.connection.vendor != "postgresql":
            return
        for model, options in TABLES.items():
            table = schema_editor.quote_name(apps.get_model("jobs", model)._meta.db_table)
            schema_editor.execute(f"ALTER TABLE {table} {change(options)}")

    return run


def set_options(options):
    return f"SET ({', '.join(f'{name} = {value}' for name, value in options.items())})"


def reset_options(options):
    return f"RESET ({', '.join(options)})"


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_initial")]
    operations = [migrations.RunPython(alter(set_options), alter(reset_options), elidable=False)]
