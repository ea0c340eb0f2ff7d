/** Programs that load images and follow links by themselves. */

/** A rule that recognizes a program that loads images or follows links, and says whether a person is behind it. */
export interface BotRule {
  /** Display name: `Apple Mail Privacy Protection`. */
  name: string
  /**
   * robot: loads whether or not anyone reads the email, and is counted separately · proxy: loads when a person opens
   * the email, and hides who and where they are
   */
  is: 'robot' | 'proxy'
  /** Parts of the User-Agent, in lower case. One match is enough. */
  agents: readonly string[]
  /** The whole User-Agent, in lower case. */
  exactAgents: readonly string[]
  /** Networks in CIDR notation. If there are any, the address must also be in one of them. */
  networks: readonly string[]
}
