/**
 * The envelope sender. Each email has its own (VERP), so that a report which comes back names the email it is about
 * even when it quotes nothing.
 */

const shape = /^bounce\+([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})@([^@]+)$/

/**
 * The return path of an email: `bounce+<32 hex>@<host>`. 39 octets before the `@`, well within RFC 5321 §4.5.3.1.1.
 * @param host where the reports go, such as `send.example.com`
 */
export function makeReturnPath(emailId: string, host: string): string {
  return `bounce+${emailId.replaceAll('-', '')}@${host}`
}

/** The name under which a domain takes its reports: `send` and `example.com` make `send.example.com`. */
export function returnPathHost(domain: { name: string; returnPath: string }): string {
  return `${domain.returnPath}.${domain.name}`
}

/** Which email a return path belongs to; undefined for any other address. Letter case is not trusted to survive the way back. */
export function parseReturnPath(address: string): { emailId: string; host: string } | undefined {
  const match = shape.exec(address.toLowerCase())
  if (!match) return undefined
  return { emailId: match.slice(1, 6).join('-'), host: match[6]! }
}
