/** The commands about nodes. */
import { presentNode } from '../api/nodes.ts'
import { presentList } from '../api/shared.ts'
import { buildFreeLeasesArgs } from '../queue/schedule.ts'
import type { NodeView } from '../mail/node.ts'
import { toNodeViews } from '../mail/node-view.ts'
import { type Context, Failure } from './context.ts'
import { formatInstant, wrapParagraph, formatTable } from './output.ts'
import type { Registrar } from './registrar.ts'

/** Registers `node`. */
export function registerNodeCommands({ group, add, does, doesWith }: Registrar): void {
  const nodes = group('node', 'Manage the nodes that share a PostgreSQL database')
  add('list', 'List nodes, whether they are alive, and their sending IPs', nodes).action(does(listNodes))
  add('forget', 'Remove a node that will not return, and its sending IPs', nodes)
    .argument('<name>', 'Name or ID from the list')
    .action(doesWith(forgetNode))
}

type NodeContext = Pick<Context, 'config' | 'storage' | 'clock' | 'output'>

/** Lists the nodes. Throws with SQLite, which has only one. */
async function nodesOf({ config, storage, clock }: NodeContext): Promise<NodeView[]> {
  if (config.storage.engine !== 'postgres')
    throw new Failure('With SQLite, there is only one node. Its state: posthaste status')
  return toNodeViews(await storage.listNodes({}, clock.now()), null, clock.now())
}

/** `node list`: prints the nodes and why they aren't ready. */
export async function listNodes(context: NodeContext): Promise<void> {
  const { output } = context
  const nodes = await nodesOf(context)
  output.object(presentList(nodes.map(presentNode)))
  if (nodes.length === 0) {
    output.text('No nodes. Start one: posthaste serve')
    return
  }
  // Without regions, the table fits on a narrow terminal.
  const placed = nodes.some(({ region }) => region !== null)
  const rows = nodes.map(({ name, id, state, region, version, storage, heartbeatAt, sources }) => [
    name,
    id,
    state,
    ...(placed ? [region ?? '-'] : []),
    version,
    String(storage.schema ?? '-'),
    formatInstant(heartbeatAt),
    sources.length === 0 ? '-' : sources.join(', '),
  ])
  const heads = ['VERSION', 'SCHEMA', 'HEARTBEAT', 'SENDING IPS']
  output.text(...formatTable(['NAME', 'ID', 'STATE', ...(placed ? ['REGION'] : []), ...heads], rows))
  output.text(
    ...nodes.flatMap(({ name, reasons }) =>
      reasons.flatMap((one) => ['', ...wrapParagraph(`${name}: ${one}`)]),
    ),
  )
}

/** `node forget`: removes a node that isn't alive. */
export async function forgetNode(context: NodeContext, [given = '']: string[]): Promise<void> {
  const { storage, clock, output } = context
  const named = (await nodesOf(context)).filter(({ id, name }) => id === given || name === given)
  const [node, ...others] = named
  if (!node) throw new Failure(`There is no node ${given}. List them: posthaste node list`)
  if (others.length > 0)
    throw new Failure(`Several nodes are named ${given}. Give an ID: ${named.map(({ id }) => id).join(', ')}`)
  const { id, name, sources } = node
  const now = clock.now()
  const forgotten = await storage.forgetNode({ id, ...buildFreeLeasesArgs(now) }, now)
  if (forgotten === false)
    throw new Failure(`${name} is alive. Stop it first: systemctl stop posthaste, on its machine.`)
  output.object({ object: 'node', id, deleted: true })
  const ips = sources.length === 0 ? '' : ` and its sending IPs: ${sources.join(', ')}`
  output.text(`Removed ${name}${ips}.`)
}
