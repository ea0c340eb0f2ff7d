import type { SuppressionOrigin } from '../mail/suppression.ts'
import { presentList, presentSuppression } from '../wireformat/wireformat.ts'
import type { Context } from './context.ts'
import { instant, table } from './output.ts'

const DEFAULT_LIMIT = 100

/** `suppression list` */
export async function listSuppressions(
  { senders, output, team }: Context,
  { origin, limit = DEFAULT_LIMIT }: { origin?: SuppressionOrigin; limit?: number },
): Promise<void> {
  const { id: teamId } = await team()
  const { items, hasMore } = await senders.listSuppressions({ teamId, limit, origin })
  output.object(presentList(items.map(presentSuppression), hasMore))
  if (items.length === 0) return output.text('No addresses are suppressed.')
  const rows = items.map((one) => [instant(one.createdAt), one.origin, one.email])
  output.text(...table(['SINCE', 'ORIGIN', 'ADDRESS'], rows))
  if (hasMore) output.error(`Only the newest ${limit} are shown. Add --limit to see more.`)
}

/** `suppression add`: an address that is on the list already stays as it is. */
export async function addSuppression({ senders, output, team }: Context, email: string): Promise<void> {
  const { id: teamId } = await team()
  const [added] = await senders.suppress({ teamId, emails: [email], field: 'email' })
  output.object(presentSuppression(added!))
  output.text(`Nothing is sent to ${added!.email} any more (${added!.origin}).`)
}

/** `suppression remove`: by address or id. */
export async function removeSuppression(
  { senders, output, team }: Context,
  idOrEmail: string,
): Promise<void> {
  const { id: teamId } = await team()
  const { id, email } = await senders.unsuppress({ teamId, idOrEmail })
  output.object({ object: 'suppression', id, deleted: true })
  output.text(`Mail to ${email} is sent again.`)
}
