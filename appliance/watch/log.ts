import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino'

export type { Logger } from 'pino'

/**
 * Creates a logger that writes one JSON object per line to standard output. Lines about an email have `email_id`.
 * Callers must log IDs instead of tokens; `withoutSecrets` is a second line of defense.
 * @param destination where to write instead of standard output
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }), log: withoutSecrets },
    serializers: { err: (error: Error) => withoutSecrets({ ...pino.stdSerializers.err(error) }) },
  }
  return pino(options, destination ?? (output ??= createOutput()))
}

/** The standard output of all loggers of the process. */
let output: DestinationStream | undefined

/**
 * Creates a stream to standard output that writes the lines of one turn of the event loop together, because writing a
 * line costs more than formatting it. A killed process loses at most the lines of its last turn.
 */
function createOutput(): DestinationStream {
  const stream = pino.destination({ dest: 1, sync: true })
  let lines = ''
  const flush = (): void => {
    const written = lines
    lines = ''
    if (written !== '') stream.write(written)
  }
  process.on('exit', flush)
  return {
    write(line) {
      if (lines === '') setImmediate(flush)
      lines += line
    },
  }
}

/** Creates a logger that writes nothing, for tests and for commands whose output is the result. */
export function createSilentLogger(): Logger {
  return pino({ level: 'silent' })
}

const SECRETS = new Set(['password', 'token', 'authorization', 'cookie'])
/** How many levels of an object to search for secrets, such as `req.headers.cookie`. */
const DEPTH = 3

/**
 * Removes secrets from a line; returns the same object if there are none. pino's own `redact` clones every line, which
 * takes longer than writing it.
 */
function withoutSecrets(line: Record<string, unknown>, depth = 1): Record<string, unknown> {
  let clean = line
  for (const key in line) {
    const value = line[key]
    const kept = SECRETS.has(key)
      ? '[removed]'
      : depth < DEPTH && isPlain(value)
        ? withoutSecrets(value, depth + 1)
        : value
    if (kept !== value) clean = { ...clean, [key]: kept }
  }
  return clean
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
