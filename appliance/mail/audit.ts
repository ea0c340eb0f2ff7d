/** Who did what, in the words of the audit log. */

/** user: a person in the dashboard · api_key: an app · command: a person at the command line · system: the appliance itself */
export const ACTOR_KINDS = ['user', 'api_key', 'command', 'system'] as const
export type ActorKind = (typeof ACTOR_KINDS)[number]

/** Who acts. */
export interface Actor {
  kind: ActorKind
  /** The person's address, the id of the key, or the account of the operating system. */
  name: string
  /** What people call it: the name of the key. */
  label?: string
  /** Where the request came from; null where none did. */
  ip: string | null
}

/** Everything that is audited: noun and verb. Each has its sentence in mail/audit-sentence.ts. */
export const AUDIT_ACTIONS = [
  'account.passkey.add',
  'account.passkey.remove',
  'account.passkey.rename',
  'account.password',
  'account.password_reset',
  'account.proof',
  'account.recovery_codes.renew',
  'account.totp.add',
  'account.totp.remove',
  'api_key.create',
  'api_key.delete',
  'api_key.update',
  'backup.create',
  'backup.restore',
  'broadcast.cancel',
  'broadcast.create',
  'broadcast.delete',
  'broadcast.pause',
  'broadcast.resume',
  'broadcast.send',
  'broadcast.update',
  'certificate.issue',
  'certificate.renew',
  'contact.batch_add',
  'contact.batch_change',
  'contact.create',
  'contact.delete',
  'contact.export',
  'contact.import',
  'contact.update',
  'contact_property.create',
  'contact_property.delete',
  'contact_property.update',
  'domain.create',
  'domain.delete',
  'domain.keep_bodies',
  'domain.receiving_rules',
  'domain.rotate_dkim',
  'domain.update',
  'domain.verify',
  'email.share',
  'erasure.begin',
  'identity.link',
  'identity.unlink',
  'image.delete',
  'image.upload',
  'import.run',
  'invitation.accept',
  'invitation.create',
  'invitation.revoke',
  'lane.pause',
  'lane.resume',
  'member.join',
  'member.remove',
  'member.update',
  'metrics.recompute',
  'pool_assignment.create',
  'pool_assignment.delete',
  'provider.update',
  'queue.drop',
  'queue.expire',
  'queue.hold',
  'queue.release',
  'queue.reroute',
  'queue.retry',
  'secrets.rekey',
  'segment.create',
  'segment.delete',
  'segment.update',
  'session.create',
  'session.end',
  'source.create',
  'source.delete',
  'source.update',
  'suppression.create',
  'suppression.delete',
  'suppression.import',
  'team.create',
  'team.leave',
  'team.plan',
  'team.rename',
  'team.security',
  'team.set_up',
  'template.create',
  'template.delete',
  'template.publish',
  'template.update',
  'topic.create',
  'topic.delete',
  'topic.update',
  'unsubscribe_page.update',
  'user.password',
  'user.reset_factors',
  'user.reset_link',
  'webhook.create',
  'webhook.delete',
  'webhook.replay',
  'webhook.rotate_secret',
  'webhook.update',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** One administrative act. */
export interface AuditEntry {
  id: string
  /** Whose things it was about; null: the whole appliance's. */
  teamId: string | null
  /** Unix milliseconds. */
  at: number
  actor: string
  actorKind: ActorKind
  /** The actor's label at that moment; null: it has none, and `actor` is what people call it. */
  actorName: string | null
  ip: string | null
  /** Noun and verb: `queue.hold`. Another version of the program may have written others than `AUDIT_ACTIONS`. */
  action: string
  /** What it was about: `queue`, or a noun and an id. */
  target: string
  /** What people called it at that moment; null: unknown. */
  targetName: string | null
  /** How it was before, and what came of it; plain data. `after` is null until the act has come to its end. */
  before: unknown
  after: unknown
  /** What was asked for. */
  details: Record<string, unknown>
}

/** An entry as it is first written. */
export type NewAuditEntry = AuditEntry & { action: AuditAction }

/** The actor's part of an entry. */
export function actorFields({ kind, name, label = '', ip }: Actor) {
  return { actor: name, actorKind: kind, actorName: label === '' ? null : label, ip }
}
