from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0004_remote_workers'),
    ]

    operations = [
        migrations.AddField(
            model_name='output',
            name='check_id',
            field=models.UUIDField(blank=True, help_text='Of the check that goes on: until it ends no file changes.', null=True),
        ),
        migrations.AddField(
            model_name='output',
            name='check_alive_at',
            field=models.DateTimeField(blank=True, help_text='When that check last said that it goes on.', null=True),
        ),
    ]
