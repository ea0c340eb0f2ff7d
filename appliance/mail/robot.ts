/** Programs that load images and follow links by themselves. */

/** How a program that comes for an image or a link is recognised, and what its coming means. */
export interface RobotRule {
  /** What people are shown: `Apple Mail Privacy Protection`. */
  name: string
  /**
   * robot: loads whether or not anyone reads the email, and is counted separately · proxy: loads when a person opens
   * the email, and hides who and where they are
   */
  is: 'robot' | 'proxy'
  /** Parts of the User-Agent, in lower case: one of them is enough. */
  agents: readonly string[]
  /** The whole User-Agent, in lower case. */
  exactAgents: readonly string[]
  /** Networks in CIDR form; where there are any, the address has to be in one of them as well. */
  networks: readonly string[]
}
