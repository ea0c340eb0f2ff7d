import { open, writeFile, type FileHandle } from 'node:fs/promises'
import { constants } from 'node:fs'
import {
  HostedError,
  moveObjects,
  newMoveReport,
  formatZoneFile,
  type ObjectKind,
  type CreatedObject,
  type MoveReport,
} from '../moving/moving.ts'
import type { Permission } from '../storage/storage.ts'
import { Failure, type Context } from './context.ts'
import { recordCreatedObject } from './import-audit.ts'
import { describeImport, presentImport, extractSecret, type Secret } from './import-text.ts'
import { openSource, type SourceOptions } from './import-source.ts'
import { describeFileError, UsageError } from './failure.ts'

/** The options of `import`. */
export interface ImportOptions extends SourceOptions {
  only?: ObjectKind[]
  dryRun?: boolean
  returnPath?: string
  permission?: Permission
  enable?: boolean
  overwrite?: boolean
  /** File for tokens and secrets. Default: they are printed. */
  secrets?: string
  /** File for the DNS records. Default: they are printed. */
  zone?: string
}

/** `import`: the exit code is 1 if the other service stopped responding, or something was skipped. */
export async function runImport(context: Context, options: ImportOptions): Promise<void> {
  try {
    await run(context, options)
  } catch (error) {
    if (error instanceof HostedError) throw new Failure(error.message, { cause: error })
    throw error
  }
}

async function run(context: Context, options: ImportOptions): Promise<void> {
  const { clock, output, senders, webhooks, contacts, templates, broadcasts, automations, customEvents } =
    context
  const { dryRun = false, enable = false, overwrite = false, permission = 'sending_access' } = options
  const now = () => clock.now()
  const tell = (line: string): void => output.error(line)
  const source = await openSource(context, options)
  const { hosted, kinds } = source
  const { base } = hosted
  const only = options.only ?? [...kinds]
  const missing = only.find((kind) => !kinds.includes(kind))
  if (missing !== undefined)
    throw new UsageError(`Exports of ${base} have no ${missing}, only: ${kinds.join(', ')}.`)
  const { id: teamId, name: team } = await context.team()
  await using sink = await openSink(context, dryRun ? undefined : options.secrets)
  const made = async (what: CreatedObject): Promise<void> => {
    await sink.keep(what)
    await recordCreatedObject(context, { teamId, base, what })
  }
  const { returnPath } = options
  const asked = { only, dryRun, returnPath, permission, enable, overwrite }
  const report = newMoveReport()
  const title = { base, team, teamId, dryRun, printed: sink.printed }
  const ways = await context.sources.waysOut()
  try {
    const books = { senders, webhooks, contacts, templates, broadcasts, automations, customEvents }
    const deps = { ...books, hosted, teamId, options: asked, author: 'command line', made, now, tell }
    await moveObjects(deps, report)
    source.finish(report)
  } catch (error) {
    const failure =
      error instanceof HostedError ? error.message : 'The import was interrupted. See the reason below.'
    output.object(presentImport(report, { ...title, failure }, ways))
    output.text(...describeImport(report, title))
    throw error
  }
  output.object(presentImport(report, { ...title, failure: null }, ways))
  output.text(...describeImport(report, title))
  await publish(context, report, options.zone)
  const left = Object.values(report.counts).reduce((sum, { leftOut }) => sum + leftOut, 0)
  if (left > 0)
    throw new Failure(
      `${left === 1 ? '1 object was' : `${left} objects were`} skipped for the reasons above.`,
    )
}

/** Writes the DNS records to publish, to the file or standard output. */
async function publish(
  { output }: Context,
  { domains }: MoveReport,
  file: string | undefined,
): Promise<void> {
  if (domains.length === 0) return
  const zone = formatZoneFile(domains)
  if (file === undefined) return output.text('', ...zone.trimEnd().split('\n'))
  try {
    await writeFile(file, zone)
  } catch (error) {
    throw new Failure(`Cannot write the DNS records: ${describeFileError(error)}`, { cause: error })
  }
  output.text(`The DNS records to publish are in ${file}.`)
}

/** Output for tokens and secrets. Each is written as soon as it is created, because later steps may fail. */
interface Sink extends AsyncDisposable {
  keep(what: CreatedObject): Promise<void>
  /** Secrets to include in the result, for --json without a file. */
  printed: Secret[]
}

async function openSink({ output }: Context, file: string | undefined): Promise<Sink> {
  const printed: Secret[] = []
  const handle = file === undefined ? undefined : await openSecret(file)
  return {
    printed,
    async keep(what) {
      const secret = extractSecret(what)
      if (!secret) return
      if (handle) return append(handle, secret, what)
      printed.push(secret)
      output.text(secret.text)
    },
    [Symbol.asyncDispose]: async () => handle?.close(),
  }
}

/** Opens or creates a file that only its owner can read. Keeps existing content. */
async function openSecret(file: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants
  let handle: FileHandle
  try {
    handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  } catch (error) {
    throw new Failure(`Cannot open the secrets file: ${describeFileError(error)}`, { cause: error })
  }
  const stat = await handle.stat()
  if (stat.isFile() && (stat.mode & 0o077) === 0) return handle
  await handle.close()
  throw new Failure(`${file} must be readable only by its owner. Run: chmod 600 ${file}`)
}

async function append(handle: FileHandle, secret: Secret, what: CreatedObject): Promise<void> {
  try {
    await handle.appendFile(`${JSON.stringify(secret.object)}\n`)
    await handle.datasync()
  } catch (error) {
    const remedy =
      what.kind === 'api_key'
        ? `the token of key ${what.key.id} is lost. Revoke it: posthaste key revoke ${what.key.id}`
        : 'posthaste webhook show prints it'
    throw new Failure(`Cannot write the secrets file: ${describeFileError(error)}; ${remedy}`, {
      cause: error,
    })
  }
}
