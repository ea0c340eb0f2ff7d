/**
 * What a sender says of encryption on the way (RFC 8689): yes: REQUIRETLS, only over TLS with servers that promise the same ·
 * no: `TLS-Required: No`, delivery matters more than secrecy · null: nothing.
 */
export type RequireTls = 'yes' | 'no' | null

/**
 * What the parameter of MAIL and the header field say together: the parameter wins (RFC 8689 §4.1). Pure.
 * @param fields the values of all `TLS-Required` fields; two of them, or another word than No, say nothing (§3)
 */
export function requireTlsOf(parameter: boolean, fields: readonly string[]): RequireTls {
  if (parameter) return 'yes'
  // A comment in brackets may stand on either side (RFC 5322 §3.2.2).
  return fields.length === 1 && /^\s*(\([^()]*\)\s*)*no\s*(\([^()]*\)\s*)*$/i.test(fields[0]!) ? 'no' : null
}
