/** Manages members of a team on the command line, which acts as an owner. */
import { OPERATOR, parseRole } from '../accounts/accounts.ts'
import { refuse } from '../mail/refusals.ts'
import type { Member } from '../storage/storage.ts'
import { presentInvitation, presentMember, type InvitationCreated } from '../api/members.ts'
import { presentDeleted, presentList } from '../api/shared.ts'
import type { Context } from './context.ts'
import { formatInstant, formatTable } from './output.ts'
import { dashboardOrigin } from './set-up-link.ts'

/** Runs `member list`. */
export async function listMembers({ accounts, output, team }: Context): Promise<void> {
  const { id: teamId } = await team()
  const members = await accounts.members.listMembers({ teamId })
  output.object(presentList(members.map(presentMember)))
  const rows = members.map((one) => [
    one.email,
    one.role,
    one.hasSecondFactor ? 'yes' : 'no',
    formatInstant(one.createdAt),
  ])
  output.text(...formatTable(['ADDRESS', 'ROLE', 'TWO-STEP SIGN-IN', 'SINCE'], rows))
}

/** `member invite`: prints the link and sends no mail. */
export async function inviteMember(
  { accounts, output, config, team }: Context,
  [email]: string[],
  options: { role: string },
): Promise<void> {
  const { id: teamId, name } = await team()
  const role = parseRole(options.role)
  const { invitation, token } = await accounts.members.invite({ teamId, email: email!, role, by: OPERATOR })
  const origin = dashboardOrigin(config)
  const link = `${origin}/dashboard/invitation#${token}`
  const created: InvitationCreated = {
    ...presentInvitation(invitation),
    link,
    sent: false,
    not_sent_because: 'the command line sends no email',
  }
  output.object(created)
  output.text(
    link,
    '',
    `Invitation link for ${invitation.email} to join "${name}" as ${role}. It works once and expires in 7 days.`,
    'No email was sent. Send the link over a private channel.',
  )
}

/** Runs `member role`. */
export async function setMemberRole(context: Context, [email, word]: string[]): Promise<void> {
  const { accounts, output, team } = context
  const { id: teamId, name } = await team()
  const { userId } = await find(context, teamId, email!)
  const role = parseRole(word!)
  const member = await accounts.members.setRole({ teamId, userId, role, by: OPERATOR })
  output.object(presentMember(member))
  output.text(`${member.email} now has the role ${role} in "${name}".`)
}

/** Runs `member remove`. */
export async function removeMember(context: Context, email: string): Promise<void> {
  const { accounts, output, team } = context
  const { id: teamId, name } = await team()
  const { userId, email: address } = await find(context, teamId, email)
  await accounts.members.removeMember({ teamId, userId, by: OPERATOR })
  output.object(presentDeleted('member', userId))
  output.text(`Removed ${address} from "${name}" and ended their sessions in it.`)
}

async function find({ accounts }: Context, teamId: string, email: string): Promise<Member> {
  const typed = email.trim().normalize('NFC').toLowerCase()
  const members = await accounts.members.listMembers({ teamId })
  const member = members.find((one) => one.email.toLowerCase() === typed)
  if (!member) throw refuse('not_found', { resource: `Member ${email}` })
  return member
}
