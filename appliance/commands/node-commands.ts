/** The commands about nodes. */
import * as node from './node.ts'
import type { Registrar } from './registrar.ts'

/** Registers `node`. */
export function addNodes({ group, add, does, doesWith }: Registrar): void {
  const nodes = group('node', 'Manage the nodes that share a PostgreSQL database')
  add('list', 'List nodes, whether they are alive, and their sending IPs', nodes).action(does(node.listNodes))
  add('forget', 'Remove a node that will not return, and its sending IPs', nodes)
    .argument('<name>', 'Name or ID from the list')
    .action(doesWith(node.forgetNode))
}
