/** Loads the data of the self-checks: which hosts to contact, and the blocklists. */
import { join } from 'node:path'
import { isIPv4 } from 'node:net'
import { isTable } from './check-value.ts'
import { FORMATS } from './formats.ts'
import { readTables, type ReportError } from './tables.ts'

/** A DNS blocklist (RFC 5782). */
export interface Blocklist {
  zone: string
  name: string
  lists: 'addresses' | 'domains'
  /** Whether a sending IP on this list is suspended. */
  suspend: boolean
  /** URL for requesting removal. */
  delist: string
  /** The meaning of each response; `*` for any other response in 127.0.0.0/8. */
  listed: Record<string, string>
  /** Responses that mean the query was refused, and why. */
  refused: Record<string, string>
}

/** The hosts that self-checks contact. */
export interface DoctorTargets {
  /** Mail exchangers, `host` or `host:port`. */
  port25: string[]
  /** HTTPS origins. */
  clock: string[]
  resolver: { cached: string; signed: string; broken: string }
}

const shipped = (name: string): string => join(import.meta.dirname, '..', '..', 'config', name)

/** The blocklists shipped with the program. */
const SHIPPED_BLOCKLISTS = shipped('blocklists.toml')
/** The hosts shipped with the program. */
const SHIPPED_TARGETS = shipped('doctor.toml')

/**
 * Loads the blocklists.
 * @param file default: the shipped one
 * @throws InvalidTable
 */
export function loadBlocklists(file: string = SHIPPED_BLOCKLISTS): Blocklist[] {
  return readTables('The blocklists', file, ({ list = [], ...others }, complain) => {
    refuseOthers('', others, complain)
    if (Array.isArray(list)) return list.map((table, at) => readBlocklist(`list[${at}]`, table, complain))
    complain('list', 'list must be a list: write [[list]] before each entry.')
    return []
  })
}

/**
 * Loads the hosts for the self-checks.
 * @param file default: the shipped one
 * @throws InvalidTable
 */
export function loadTargets(file: string = SHIPPED_TARGETS): DoctorTargets {
  return readTables('The targets of the doctor', file, ({ port25, clock, resolver, ...others }, complain) => {
    refuseOthers('', others, complain)
    const { cached, signed, broken, ...more } = isTable(resolver) ? resolver : {}
    refuseOthers('resolver.', more, complain)
    return {
      port25: readTexts('port25', port25, 'hostnames or host:port', isTarget, complain),
      clock: readTexts('clock', clock, 'origins such as https://www.example.com', isHttps, complain),
      resolver: {
        cached: readText('resolver.cached', cached, 'a domain name', isName, complain),
        signed: readText('resolver.signed', signed, 'a domain name', isName, complain),
        broken: readText('resolver.broken', broken, 'a domain name', isName, complain),
      },
    }
  })
}

const isName = (text: string): boolean => FORMATS.hostname!.test(text)
const isHttps = (text: string): boolean => FORMATS.origin!.test(text) && text.startsWith('https:')
const isTarget = (text: string): boolean => isName(text) || FORMATS['host-port']!.test(text)

function readBlocklist(key: string, table: unknown, complain: ReportError): Blocklist {
  if (!isTable(table)) complain(key, `${key} is not a table.`)
  const { zone, name, lists, suspend, delist, listed, refused, ...others } = isTable(table) ? table : {}
  refuseOthers(`${key}.`, others, complain)
  if (lists !== 'addresses' && lists !== 'domains')
    complain(`${key}.lists`, `${key}.lists: expected "addresses" or "domains".`)
  if (typeof suspend !== 'boolean') complain(`${key}.suspend`, `${key}.suspend: expected true or false.`)
  const any = (text: string): boolean => text !== ''
  const meanings = readMeanings(`${key}.listed`, listed, complain)
  if (Object.keys(meanings).length === 0)
    complain(`${key}.listed`, `${key}.listed: no return code means "listed".`)
  return {
    zone: readText(`${key}.zone`, zone, 'a domain name', isName, complain),
    name: readText(`${key}.name`, name, 'a name', any, complain),
    lists: lists === 'domains' ? 'domains' : 'addresses',
    suspend: suspend === true,
    delist: readText(`${key}.delist`, delist, 'a URL', (text) => URL.canParse(text), complain),
    listed: meanings,
    refused: refused === undefined ? {} : readMeanings(`${key}.refused`, refused, complain),
  }
}

function readMeanings(key: string, table: unknown, complain: ReportError): Record<string, string> {
  const entries = Object.entries(isTable(table) ? table : {})
  for (const [answer, meaning] of entries)
    if ((answer !== '*' && !(isIPv4(answer) && answer.startsWith('127.'))) || typeof meaning !== 'string')
      complain(
        `${key}."${answer}"`,
        `${key}."${answer}": expected an address in 127.0.0.0/8 or "*", and a string.`,
      )
  return Object.fromEntries(entries.map(([answer, meaning]) => [answer, String(meaning)]))
}

function readText(
  key: string,
  value: unknown,
  expected: string,
  test: (text: string) => boolean,
  complain: ReportError,
): string {
  if (typeof value === 'string' && test(value)) return value
  complain(key, `${key} is ${value === undefined ? 'missing' : JSON.stringify(value)}; expected ${expected}.`)
  return ''
}

function readTexts(
  key: string,
  value: unknown,
  expected: string,
  test: (text: string) => boolean,
  complain: ReportError,
): string[] {
  if (Array.isArray(value) && value.every((one): one is string => typeof one === 'string' && test(one)))
    return value
  complain(
    key,
    `${key} is ${value === undefined ? 'missing' : JSON.stringify(value)}; expected a list of ${expected}.`,
  )
  return []
}

function refuseOthers(prefix: string, others: object, complain: ReportError): void {
  for (const key of Object.keys(others)) complain(prefix + key, `unknown key ${prefix}${key}.`)
}
