/** Addresses that show what can become of an email, without a server that it could go to (reference: wire format §7). Pure. */

/** What the test addresses show, which is what their local parts say. */
export const TEST_OUTCOMES = ['delivered', 'bounced', 'complained', 'suppressed'] as const
export type TestOutcome = (typeof TEST_OUTCOMES)[number]

/**
 * What a test address shows; a label after `+` changes nothing. `unknown`: an address at a test domain that is none of them. Null: not at a
 * test domain.
 * @param domains in lower case
 */
export function testOutcomeOf(address: string, domains: readonly string[]): TestOutcome | 'unknown' | null {
  const at = address.lastIndexOf('@')
  if (!domains.includes(address.slice(at + 1).toLowerCase())) return null
  const [name] = address.slice(0, at).toLowerCase().split('+', 1)
  return TEST_OUTCOMES.find((outcome) => outcome === name) ?? 'unknown'
}
