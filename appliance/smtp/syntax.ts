/** Parses commands (RFC 5321 §4.1): verb, paths, parameters. Pure. */
import { parseMailbox, type Mailbox } from '../mail/address.ts'
import { refuse } from '../mail/refusals.ts'

/** A command line, split at its first space. */
export interface Command {
  /** Upper case. */
  verb: string
  args: string
}

/** Splits a line into verb and arguments. Verbs consist of letters, in any case (RFC 5321 §2.4). */
export function parseCommand(line: string): Command {
  const space = line.indexOf(' ')
  const verb = space < 0 ? line : line.slice(0, space)
  return { verb: verb.toUpperCase(), args: space < 0 ? '' : line.slice(space + 1).trim() }
}

/** The path of MAIL or RCPT and its parameters. */
export interface PathArgs {
  /** Null for `<>`. */
  mailbox: Mailbox | null
  /** Keywords in upper case. */
  parameters: Map<string, string | null>
}

/**
 * Parses `FROM:<path> parameters`. Accepts a space after the colon, which old devices send, and drops a source route
 * (RFC 5321 §4.1.2, appendix C). Refuses: `smtp_syntax`, `smtp_path`.
 * @param hostname name of this server, if RCPT accepts `<postmaster>` without a domain (RFC 5321 §4.1.1.3)
 */
export function parsePath(command: 'MAIL' | 'RCPT', args: string, hostname?: string): PathArgs {
  const word = command === 'MAIL' ? 'FROM' : 'TO'
  const wrong = () => refuse('smtp_syntax', { expected: `${command} ${word}:<user@example.com>` })
  const start = new RegExp(`^${word}: *<`, 'i').exec(args)
  if (!start) throw wrong()
  const end = closingBracket(args, start[0].length)
  if (end < 0) throw wrong()
  const path = args.slice(start[0].length, end)
  const rest = args.slice(end + 1)
  if (rest !== '' && !rest.startsWith(' ')) throw wrong()
  const parameters = parseParameters(rest)
  if (path === '') {
    if (command === 'RCPT') throw wrong()
    return { mailbox: null, parameters }
  }
  const bare = hostname !== undefined && /^postmaster$/i.test(path)
  const mailbox = parseMailbox(bare ? `${path}@${hostname}` : `<${path.replace(/^@[^:"]*:/, '')}>`)
  if (!mailbox) throw refuse('smtp_path', { expected: 'it must be user@example.com with a full domain name' })
  return { mailbox, parameters }
}

/** Finds the `>` outside a quoted local part; -1 if there is none. */
function closingBracket(text: string, from: number): number {
  let quoted = false
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (quoted && char === '\\') at++
    else if (char === '"') quoted = !quoted
    else if (char === '>' && !quoted) return at
  }
  return -1
}

/** Parses `esmtp-param` (RFC 5321 §4.1.2); values may be UTF-8 (RFC 6531 §3.3). */
function parseParameters(text: string): Map<string, string | null> {
  const parameters = new Map<string, string | null>()
  for (const word of text.split(' ').filter((part) => part !== '')) {
    const match = /^([A-Za-z\d][A-Za-z\d-]*)(?:=([!-<>-~\u0080-\u{10FFFF}]+))?$/u.exec(word)
    const keyword = match?.[1]!.toUpperCase()
    if (keyword === undefined || parameters.has(keyword))
      throw refuse('smtp_syntax', { expected: 'parameters such as SIZE=1000, each once' })
    parameters.set(keyword, match![2] ?? null)
  }
  return parameters
}
