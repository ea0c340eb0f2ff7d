/** Records each object that an import creates in the audit log, as if it had been created individually. */
import { recordAuditEntry } from '../accounts/audit.ts'
import type { AuditAction } from '../mail/audit.ts'
import type { CreatedObject } from '../moving/moving.ts'
import { presentDomainSummary } from '../api/domains.ts'
import { presentApiKeySetting } from '../api/api-keys.ts'
import { presentWebhookSetting } from '../api/webhooks.ts'
import type { Context } from './context.ts'
import { getCommandLineActor } from './queue-change.ts'

/** Records one object, without tokens and secrets. */
export async function recordCreatedObject(
  { storage, clock }: Pick<Context, 'storage' | 'clock'>,
  { teamId, base, what }: { teamId: string; base: string; what: CreatedObject },
): Promise<void> {
  const details = { command: 'import', from: base }
  await recordAuditEntry(storage, clock, { teamId, actor: getCommandLineActor(), details, ...actOf(what) })
}

function actOf(what: CreatedObject): { action: AuditAction; target: string; after: object } {
  switch (what.kind) {
    case 'domain': {
      const { domain } = what
      return { action: 'domain.create', target: `domain ${domain.id}`, after: presentDomainSummary(domain) }
    }
    case 'suppressions':
      return { action: 'suppression.import', target: 'suppression', after: { added: what.added } }
    case 'contacts': {
      const { added, updated } = what
      return { action: 'contact.import', target: 'contact', after: { added, updated } }
    }
    case 'stored': {
      const { action, id, name } = what
      const noun = action.slice(0, action.indexOf('.'))
      const after = noun === 'contact_property' ? { id, key: name } : { id, name }
      return { action, target: `${noun} ${id}`, after }
    }
    case 'webhook':
    case 'webhook_enabled': {
      const action = what.kind === 'webhook' ? 'webhook.create' : 'webhook.update'
      const { webhook } = what
      return { action, target: `webhook ${webhook.id}`, after: presentWebhookSetting(webhook) }
    }
    case 'api_key':
      return {
        action: 'api_key.create',
        target: `api_key ${what.key.id}`,
        after: presentApiKeySetting(what.key),
      }
  }
}
