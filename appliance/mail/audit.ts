/** Shared types of the audit log, which records who did what. */

/**
 * user: a person in the dashboard · api_key: an app · command: a person at the command line · system: the server itself
 */
export const ACTOR_KINDS = ['user', 'api_key', 'command', 'system'] as const
export type ActorKind = (typeof ACTOR_KINDS)[number]

/** Who performs an action. */
export interface Actor {
  kind: ActorKind
  /** The person's address, the key's id, or the operating system account. */
  name: string
  /** Display name: the name of the key. */
  label?: string
  /** The IP of the request; null when there was none. */
  ip: string | null
}

/** The server itself. */
export const SYSTEM_ACTOR: Actor = { kind: 'system', name: 'posthaste', ip: null }

/** Every audited action: noun and verb. Each has its sentence in mail/audit-sentence.ts. */
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
  'archive.update',
  'automation.create',
  'automation.delete',
  'automation.retry',
  'automation.stop',
  'automation.update',
  'backup.create',
  'backup.restore',
  'broadcast.cancel',
  'broadcast.choose_variant',
  'broadcast.create',
  'broadcast.delete',
  'broadcast.export',
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
  'contact.import_undo',
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
  'event.create',
  'event.delete',
  'event.update',
  'form.create',
  'form.delete',
  'form.update',
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
  'node.forget',
  'pool.update',
  'pool_assignment.create',
  'pool_assignment.delete',
  'provider.update',
  'queue.drop',
  'queue.expire',
  'queue.hold',
  'queue.release',
  'queue.reroute',
  'queue.retry',
  'region.fail_over',
  'region.restore',
  'secrets.rekey',
  'segment.create',
  'segment.delete',
  'segment.update',
  'session.create',
  'session.end',
  'source.create',
  'source.delete',
  'source.update',
  'storage.move',
  'suppression.create',
  'suppression.delete',
  'suppression.import',
  'team.alerts',
  'team.create',
  'team.leave',
  'team.plan',
  'team.provider_rules',
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

/** One administrative action. */
export interface AuditEntry {
  id: string
  /** The team concerned; null for the whole server. */
  teamId: string | null
  /** Unix milliseconds. */
  at: number
  actor: string
  actorKind: ActorKind
  /** The actor's label at that time; null when it had none, and `actor` is its display name. */
  actorName: string | null
  ip: string | null
  /** Noun and verb, such as `queue.hold`. Other versions may have written actions that aren't in `AUDIT_ACTIONS`. */
  action: string
  /** The object: `queue`, or a noun and an id. */
  target: string
  /** The object's name at that time; null when unknown. */
  targetName: string | null
  /** The state before, and the result; plain data. `after` is null until the action is complete. */
  before: unknown
  after: unknown
  /** The request. */
  details: Record<string, unknown>
}

/** An entry as it is first written. */
export type NewAuditEntry = AuditEntry & { action: AuditAction }

/** Returns the actor's fields of an entry. */
export function toActorFields({ kind, name, label = '', ip }: Actor) {
  return { actor: name, actorKind: kind, actorName: label === '' ? null : label, ip }
}
