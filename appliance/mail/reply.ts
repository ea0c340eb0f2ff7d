/** What a server answered to a command (RFC 5321 §4.2). */
export interface Reply {
  /** Three digits; the first tells 2 done, 3 go on, 4 try again later, 5 never. */
  code: number
  /** Enhanced status code (RFC 3463), such as `5.1.1`, where the server gave one. */
  enhanced: string | null
  /** The text after the codes; the lines of a multi-line reply joined by `\n`. */
  text: string
}

const enhancedCode = /^([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/

/**
 * Reads the text of a reply as it came over the wire, one or several lines.
 * Returns undefined when it is not a reply at all.
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

/** A reply as one line for people: `550 5.1.1 no such user`. */
export function formatReply(reply: Reply): string {
  return [String(reply.code), reply.enhanced, reply.text.replaceAll('\n', ' ')].filter(Boolean).join(' ')
}
