/** The commands about the rules of mailbox providers. */
import { presentProviderRules, presentRuleCompliance } from '../api/provider-rules.ts'
import { formatProblem, type RuleMode } from '../mail/provider-rules.ts'
import type { Context } from './context.ts'
import { findDomainByName } from './domain.ts'
import { wrapParagraph, formatTable } from './output.ts'

const WORDS: Record<RuleMode, string> = {
  block: 'Bulk mail that breaks a rule is refused.',
  warn: 'Reviews and insights warn about bulk mail that breaks a rule.',
  off: 'Mail is not checked against these rules.',
}

/** Runs `team provider-rules`. */
export async function showProviderRules({ accounts, gate, output, team }: Context): Promise<void> {
  const { providerRules: mode } = await accounts.teams.getTeam({ id: (await team()).id })
  const shown = presentProviderRules(mode, gate.rules())
  output.object(shown)
  const rows = shown.rules.map((rule) => [
    rule.id,
    rule.bulk_from === null ? 'always' : `${rule.bulk_from} a day`,
    rule.reply ?? '-',
    rule.since,
    rule.source,
  ])
  output.text(
    `${mode}: ${WORDS[mode]}`,
    '',
    ...formatTable(['RULE', 'FROM', 'REPLY', 'SINCE', 'SOURCE'], rows),
  )
}

/** Runs `team set-provider-rules`. A running daemon applies it within half a minute. */
export async function setProviderRules(
  { storage, clock, gate, output, team }: Context,
  mode: string,
): Promise<void> {
  const chosen = mode as RuleMode // One of the argument's choices.
  await storage.setProviderRules({ id: (await team()).id, mode: chosen }, clock.now())
  output.object(presentProviderRules(chosen, gate.rules()))
  output.text(WORDS[chosen])
}

/** Runs `domain provider-rules`. */
export async function showDomainProviderRules(context: Context, name: string): Promise<void> {
  const { gate, output } = context
  const domain = await findDomainByName(context, name)
  const standing = await gate.standing({ domain })
  const shown = presentRuleCompliance(domain.id, standing)
  output.object(shown)
  const rows = shown.providers.map((one) => [
    one.name,
    String(one.messages),
    String(one.bulk_from),
    one.bulk ? 'yes' : 'no',
  ])
  output.text(...formatTable(['PROVIDER', 'LAST 24 H', 'BULK FROM', 'BULK SENDER'], rows), '')
  for (const insight of standing.insights)
    output.text(
      ...wrapParagraph(
        `${insight.verdict}: ${insight.verdict === 'pass' ? insight.note : formatProblem(insight)}`,
      ),
    )
  if (standing.mode === 'off') output.text(WORDS.off)
}
