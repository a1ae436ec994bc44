# Two constraints in place of fourteen: PostgreSQL reads the text of each anew with every statement that writes a job.

import jobs.states
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0006_output_amount'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='job',
            name='job_progress_0_100',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_claimed_iff_running',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_status_known',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_cancel_never_pending',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_priority_range',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_attempts_within_limit',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_finished_iff_terminal',
        ),
        migrations.AlterField(
            model_name='job',
            name='attempt',
            field=models.SmallIntegerField(db_default=0, default=0, help_text='Executions since the last manual retry.'),
        ),
        migrations.AlterField(
            model_name='job',
            name='crashes',
            field=models.SmallIntegerField(db_default=0, default=0, help_text='Attempts that ended with their worker.'),
        ),
        migrations.AlterField(
            model_name='job',
            name='max_attempts',
            field=models.SmallIntegerField(),
        ),
        migrations.AlterField(
            model_name='job',
            name='progress',
            field=models.SmallIntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name='job',
            name='size',
            field=models.BigIntegerField(db_default=0, default=0, help_text='Bytes of its source: workers with --max-size leave larger ones. 0 = unknown.'),
        ),
        migrations.AlterField(
            model_name='job',
            name='unlisted_beats',
            field=models.SmallIntegerField(db_default=0, default=0, help_text='Heartbeats of its worker, in a row, that did not list this claim.'),
        ),
        migrations.AlterField(
            model_name='job',
            name='waits_for',
            field=models.IntegerField(db_default=0, default=0, help_text='How many jobs it waits for; they are in the table of dependencies.'),
        ),
        migrations.AlterField(
            model_name='jobevent',
            name='attempt',
            field=models.SmallIntegerField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('status', jobs.states.Status['RUNNING']), ('claim_id__isnull', False), ('claimed_at__isnull', False), ('lease_expires_at__isnull', False), ('worker_id__isnull', False)), models.Q(('claim_id', None), ('claimed_at', None), ('lease_expires_at', None), ('worker_id', None), models.Q(models.Q(('cancel_requested_at', None), ('finished_at', None), ('status', jobs.states.Status['PENDING'])), models.Q(('finished_at__isnull', False), models.Q(('status', jobs.states.Status['COMPLETED']), ('status', jobs.states.Status['FAILED']), ('status', jobs.states.Status['CANCELLED']), _connector='OR')), _connector='OR')), _connector='OR'), name='job_state_sound'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('priority__gte', -100), ('priority__lte', 100), ('progress__gte', 0), ('progress__lte', 100), ('attempt__gte', 0), ('attempt__lte', models.F('max_attempts')), ('crashes__gte', 0), ('size__gte', 0), ('unlisted_beats__gte', 0), ('waits_for__gte', 0)), name='job_numbers_in_range'),
        ),
    ]
