/** Who holds a lease: a running daemon. Pure. */

/** Names one run of a node's daemon. */
export const ownerOf = (node: string, run: string): string => `${node}/${run}`

/** The node of an owner. */
export const nodeOf = (owner: string): string => owner.slice(0, Math.max(0, owner.indexOf('/')))

/** Whether the owner is an earlier run of the same node. The lock on the node's data directory says that it has ended. */
export const isEarlierRun = (owner: string, run: string): boolean =>
  owner !== run && nodeOf(owner) === nodeOf(run)
