/** A server's reply to a command (RFC 5321 §4.2). */
export interface Reply {
  /** Three digits; the first means: 2 success, 3 continue, 4 temporary failure, 5 permanent failure. */
  code: number
  /** Enhanced status code (RFC 3463), such as `5.1.1`; null when missing. */
  enhanced: string | null
  /** The text after the codes, with the lines of a multiline reply joined by line feeds. */
  text: string
}

const enhancedCode = /^([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/

/**
 * Parses a reply of one or several lines.
 * Returns undefined when it isn't a reply.
 */
export function parseReply(text: string): Reply | undefined {
  const lines = text.split(/\r?\n/).filter((line) => line !== '')
  const first = /^([2-5]\d\d)(?:[ -]|$)/.exec(lines[0] ?? '')
  if (!first) return undefined
  let enhanced: string | null = null
  const texts = lines.map((line) => {
    const rest = line.slice(4)
    const match = enhancedCode.exec(rest)
    if (!match) return rest
    enhanced ??= match[1]!
    return rest.slice(match[0].length)
  })
  return { code: Number(first[1]), enhanced, text: texts.join('\n').trim() }
}

/** Formats a reply as one line for people: `550 5.1.1 no such user`. */
export function formatReply(reply: Reply): string {
  return [String(reply.code), reply.enhanced, reply.text.replaceAll('\n', ' ')].filter(Boolean).join(' ')
}
