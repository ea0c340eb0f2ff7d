/** Reads the conditions of a search for requests out of a query string. */
import { isId } from '../mail/ids.ts'
import { refuse } from '../mail/refusals.ts'
import type { LogFilter } from '../storage/storage.ts'
import { instantOf, refuseStrange, textOf, type Given } from './conditions.ts'

/** What a request can have been: the methods of HTTP, and a message or session over SMTP. */
export const LOG_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'SMTP'] as const

/** The conditions, as they are called in the query. */
const LOG_CONDITIONS = [
  ...['method', 'status', 'key', 'endpoint', 'ip', 'user_agent', 'email_id', 'since', 'until'],
] as const

/**
 * Refuses: `invalid_parameter`, also for a condition that there is not: a search that leaves one out would find too much.
 * @param other names of the query that are no conditions
 */
export function readLogFilter(query: unknown, other: readonly string[]): LogFilter {
  const given = query as Given
  refuseStrange(given, LOG_CONDITIONS, other)
  return {
    methods: readMethods(given),
    ...readStatuses(given),
    apiKey: textOf(given, 'key'),
    endpoint: textOf(given, 'endpoint'),
    ip: textOf(given, 'ip'),
    userAgent: textOf(given, 'user_agent'),
    emailId: readEmailId(given),
    since: instantOf(given, 'since'),
    until: instantOf(given, 'until'),
  }
}

const words = (given: Given, name: string): string[] | undefined =>
  textOf(given, name)
    ?.split(',')
    .map((word) => word.trim())

function readMethods(given: Given): string[] | undefined {
  return words(given, 'method')?.map((word) => {
    const found = LOG_METHODS.find((method) => method === word.toUpperCase())
    if (found === undefined)
      throw refuse('invalid_parameter', {
        parameter: 'method',
        expected: `a comma-separated list of ${LOG_METHODS.join(', ')}`,
      })
    return found
  })
}

/** `422` is that status or SMTP reply code, `4xx` any from 400 to 499, `5.7.1` and `5.7.x` are enhanced codes (RFC 3463). */
function readStatuses(given: Given): Pick<LogFilter, 'statuses' | 'enhanced'> {
  const all = words(given, 'status')
  const enhanced = all?.filter((word) => /^[245]\.\d{1,3}\.(\d{1,3}|x)$/i.test(word))
  const statuses = all
    ?.filter((word) => !enhanced?.includes(word))
    .map((word) => {
      const [, digit, rest = ''] = /^([1-5])(xx|\d\d)$/i.exec(word) ?? []
      if (digit === undefined)
        throw refuse('invalid_parameter', {
          parameter: 'status',
          expected: 'comma-separated statuses such as `422`, `5xx` or `5.7.1`',
        })
      if (rest.toLowerCase() !== 'xx') return { from: Number(word), to: Number(word) }
      return { from: Number(digit) * 100, to: Number(digit) * 100 + 99 }
    })
  return { statuses, enhanced: enhanced?.map((code) => code.toLowerCase()) }
}

function readEmailId(given: Given): string | undefined {
  const text = textOf(given, 'email_id')
  if (text !== undefined && !isId(text)) throw refuse('invalid_id', { parameter: 'email_id' })
  return text?.toLowerCase()
}
