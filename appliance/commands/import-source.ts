/** Opens what an import reads: the API of the hosted service, or files that another service exported. */
import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import {
  createHostedClient,
  EXPORTERS,
  OBJECT_KINDS,
  MAX_EXPORT,
  parseExport,
  parseBaseUrl,
  validateKey,
  type Exporter,
  type ExportFile,
  type ParsedExport,
} from '../moving/moving.ts'
import { describeFileError, UsageError } from './failure.ts'
import { Failure, type Context } from './context.ts'

/** Options that select the source of an import. */
export interface SourceOptions {
  /** URL of the other service's API, or the name of a service whose files are read. */
  from: string
  /** File with an API key of the other service, or `-`. */
  keyFile?: string
  /** Exported files. */
  files?: string[]
}

/** A source that an import reads from. `hosted.base` names it: a URL, or the service that exported the files. */
export type ImportSource = ParsedExport

/** Opens the source. Throws `UsageError` if the options don't go together. */
export async function openSource(
  { clock, output }: Context,
  { from, keyFile, files }: SourceOptions,
): Promise<ImportSource> {
  const exporter = EXPORTERS.find((one) => one === from)
  if (exporter) return openFiles(exporter, { keyFile, files, now: clock.now() })
  if (!URL.canParse(from))
    throw new UsageError(
      `--from must be the URL of the API, such as https://api.example.com, or one of ${EXPORTERS.join(', ')}.`,
    )
  const base = parseBaseUrl(from)
  if (files !== undefined)
    throw new UsageError(`--files is for exported files: use --from ${EXPORTERS.join(', ')} with it.`)
  if (keyFile === undefined)
    throw new UsageError('Add --key-file: a file with an API key of the hosted service.')
  const key = validateKey(await readGiven(keyFile))
  const now = () => clock.now()
  const tell = (line: string): void => output.error(line)
  const hosted = createHostedClient({ base, key, agent: 'Posthaste', wait, now, tell })
  return { hosted, kinds: OBJECT_KINDS, finish: () => undefined }
}

async function openFiles(
  exporter: Exporter,
  { keyFile, files = [], now }: { keyFile?: string | undefined; files?: string[] | undefined; now: number },
): Promise<ImportSource> {
  if (keyFile !== undefined)
    throw new UsageError(`--key-file is for the API of the hosted service. From ${exporter}, files are read.`)
  if (files.length === 0) throw new UsageError(`Add --files: the files that ${exporter} exported.`)
  const read: ExportFile[] = []
  for (const name of files) read.push({ name, bytes: await readExported(name) })
  return parseExport(exporter, read, now)
}

async function readExported(name: string): Promise<Uint8Array> {
  try {
    const bytes = await readFile(name)
    if (bytes.length <= MAX_EXPORT) return bytes
  } catch (error) {
    throw new Failure(`Cannot read ${name}: ${describeFileError(error)}`, { cause: error })
  }
  throw new Failure(`${name} is larger than ${MAX_EXPORT / 1024 / 1024} MB. Split it.`)
}

async function readGiven(file: string): Promise<string> {
  if (file === '-') return readAll(process.stdin)
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new Failure(`Cannot read the key file: ${describeFileError(error)}`, { cause: error })
  }
}
