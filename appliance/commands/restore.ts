import { resolve } from 'node:path'
import { systemClock } from '../clock/clock.ts'
import { findConfig } from '../config/config.ts'
import { refused } from './backup.ts'
import type { BackupAbout } from '../storage/storage.ts'
import { Failure, reportFailure, soundConfig, type Adapters, type CommonOptions } from './context.ts'
import { readDecryption } from './key-files.ts'
import { thisPerson } from './queue-change.ts'
import { createOutput, instant, paragraph } from './output.ts'

export interface RestoreOptions extends CommonOptions {
  dataDir?: string
  identityFile?: string
  passphraseFile?: string
}

/** `restore`: makes a data directory out of a backup. Returns the exit code. */
export async function restore(file: string, options: RestoreOptions, adapters: Adapters): Promise<number> {
  const output = createOutput(options.json === true)
  return reportFailure(output, async () => {
    const dataDir = resolve(options.dataDir ?? configuredDirectory(options))
    const { restoreBackup } = await adapters()
    const path = resolve(file)
    const decryption = readDecryption(options)
    const restored = await refused(() =>
      restoreBackup({ file: path, dataDir, by: thisPerson(), decryption }, systemClock.now()),
    )
    const { about, held, reports, auditId } = restored
    output.object({
      object: 'restore',
      data_dir: dataDir,
      held,
      reports_given_up: reports,
      audit_id: auditId,
      master_key: about.masterKey ?? null,
      backup: { version: about.version, schema: about.schema, bodies: about.bodies, counts: about.counts },
      backup_made_at: new Date(about.createdAt).toISOString(),
    })
    output.text(
      `Restored ${about.counts.emails} emails into ${dataDir}, as of ${instant(about.createdAt)} UTC.`,
      ...paragraph(holdSentence(held)),
      ...(held === 0
        ? []
        : [
            '',
            '  posthaste queue list --state held    list it',
            '  posthaste queue release              send it',
            '  posthaste queue drop --state held    drop it',
            '',
          ]),
      ...(reports === 0
        ? []
        : paragraph(
            `${reports} bounce reports to senders were due. They are not sent, because they may have been sent after the backup.`,
          )),
      ...paragraph(
        'Everyone has to sign in again. Keys, members, passwords and second steps that were removed or changed since the backup are back.',
      ),
      ...keyLines(about, dataDir),
      'The configuration file from the backup, if there was one, is in restored-config/.',
    )
    return 0
  })
}

/** What is still missing for a start. */
function keyLines({ masterKey }: BackupAbout, dataDir: string): string[] {
  if (!masterKey || masterKey.included) return []
  return paragraph(
    `Its secrets are sealed with the master key ${masterKey.id}, which was not in the backup. The daemon does not start without it: put it into ${dataDir}/master.key, or where the configuration says.`,
  )
}

const holdSentence = (held: number): string =>
  held === 0
    ? 'No deliveries were queued.'
    : `${held === 1 ? '1 delivery is' : `${held} deliveries are`} on hold, because they may have been sent after the backup. New mail is sent as usual.`

function configuredDirectory({ config: file }: CommonOptions): string {
  const { sandbox, loaded } = findConfig({ file, env: process.env })
  if (sandbox)
    throw new Failure('There is no configuration file. Set the directory: --data-dir /var/lib/posthaste')
  return soundConfig(loaded).config.data_dir
}
