/** Reads the URL of a PostgreSQL database, which may name several servers: a primary and its standbys. */
import { isAbsolute } from 'node:path'

/** Protocol with user, servers, and database with parameters. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(\/.*)$/

/** Maximum number of servers in a URL. */
const MOST_SERVERS = 8

/**
 * Splits a URL such as `postgres://user@db1,db2:5433/name` or `postgres://user@localhost/name?host=/run/a,/run/b` into
 * one URL per server, in order. Returns undefined if it is not such a URL. `host`, the directory of a Unix socket, is
 * the only possible parameter.
 */
export function splitPostgresUrl(text: string): URL[] | undefined {
  const [, start, hosts, rest] = PARTS.exec(text) ?? []
  if (start === undefined || hosts === undefined || rest === undefined) return undefined
  const texts = hosts.split(',').map((host) => `${start}${host}${rest}`)
  if (texts.some((one) => !URL.canParse(one))) return undefined
  const urls = texts.map((one) => new URL(one)).flatMap(perDirectory)
  const several = urls.length > 1
  const named = urls.every(({ hostname, searchParams }) => hostname !== '' || searchParams.has('host'))
  if (urls.length > MOST_SERVERS || (several && !named)) return undefined
  return urls.every(isDatabase) ? urls : undefined
}

/** Splits a list of directories in the parameter `host`. */
function perDirectory(url: URL): URL[] {
  const directories = url.searchParams.get('host')?.split(',') ?? []
  if (directories.length < 2) return [url]
  return directories.map((directory) => {
    const one = new URL(url)
    one.searchParams.set('host', directory)
    return one
  })
}

function isDatabase({ pathname, searchParams, hash }: URL): boolean {
  const known = [...searchParams].every(([name, value]) => name === 'host' && isAbsolute(value))
  return /^\/[^/]+$/.test(pathname) && known && hash === ''
}

/** Returns the servers and the database of a URL, without user and password, for people. */
export function describePostgresUrl(text: string): string {
  const urls = splitPostgresUrl(text) ?? []
  const servers = urls.map(({ host, searchParams }) => searchParams.get('host') ?? host)
  return `${servers.join(',')}${urls[0]?.pathname ?? ''}`
}

/** Returns a URL without its password. */
export const withoutPassword = (text: string): string =>
  text.replace(PARTS, (_, start: string, hosts: string, rest: string) => {
    return `${start.replace(/:[^:/@]*@$/, '@')}${hosts}${rest}`
  })
