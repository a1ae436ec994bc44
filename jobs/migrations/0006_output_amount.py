from django.db import migrations, models
from django.db.models import Count, OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce


def count_what_is_there(apps, schema_editor):
    """Of attempts that are handing files over right now."""
    output, file = apps.get_model('jobs', 'Output'), apps.get_model('jobs', 'OutputFile')
    of_each = file.objects.filter(output=OuterRef('pk')).order_by().values('output')
    output.objects.update(
        number=Coalesce(Subquery(of_each.annotate(n=Count('pk')).values('n')), 0),
        size=Coalesce(Subquery(of_each.annotate(n=Sum('size')).values('n')), 0),
    )


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0005_output_check'),
    ]

    operations = [
        migrations.AddField(
            model_name='output',
            name='number',
            field=models.PositiveIntegerField(db_default=0, help_text='Of files that have arrived.'),
        ),
        migrations.AddField(
            model_name='output',
            name='size',
            field=models.BigIntegerField(db_default=0, help_text='Of all of them, in bytes.'),
        ),
        migrations.RunPython(count_what_is_there, migrations.RunPython.noop),
    ]
