import type { Static } from 'typebox'
import { array, kind, literals, Nullable, object, string } from './schemas.ts'
import { Id, Timestamp } from './shared.ts'
import { isAliased } from '../senders/aliases.ts'
import { buildDkimName, buildDkimRecord } from '../senders/records.ts'
import type { DkimKey as StoredDkimKey, Domain as StoredDomain } from '../storage/storage.ts'
import { timestamp, timestampOrNull } from './timestamp.ts'
import { operationsIn } from './operation.ts'
import { byId } from './parameters.ts'

/** A DKIM key of a domain. Not part of the hosted API. */
export const DkimKey = object('A DKIM key of a domain.', {
  id: Id,
  selector: string('The selector: the first label of its record.'),
  algorithm: literals(['rsa-sha256', 'ed25519-sha256'], 'Signature algorithm.'),
  state: literals(
    ['pending', 'active', 'retiring', 'retired'],
    'pending: its record is not published yet · active: signs · retiring: no longer signs, but its record is still needed · retired: its record can be removed.',
  ),
  state_since: Timestamp,
  retires_at: Nullable(Timestamp, 'How long the record of a retiring key is needed.'),
  created_at: Timestamp,
  fqdn: string('The name of its record.'),
  value: string('The value of its record.'),
  note: string('What the state means for its record.'),
})
export type DkimKey = Static<typeof DkimKey>

/** POST /domains/:id/dkim/rotate: the new keys, pending publication. Not part of the hosted API. */
export const DkimRotation = object('The new keys.', {
  object: kind('dkim_rotation'),
  domain_id: Id,
  dkim_keys: array(DkimKey, 'The keys whose records are to be published.'),
})
export type DkimRotation = Static<typeof DkimRotation>

const operation = operationsIn('Domains')

export const rotateDkimKeys = operation('POST /domains/:id/dkim/rotate', {
  summary: 'Rotate the DKIM keys of a domain',
  description:
    'Creates new keys with new selectors. They sign once their records are found; then the old keys retire. Not part of the hosted API.',
  params: byId,
  response: { 200: DkimRotation },
})

const keyNotes: Record<StoredDkimKey['state'], string> = {
  pending: 'Publish its record. Posthaste signs with this key once the record is found in DNS.',
  active: 'Posthaste signs with this key. Keep its record.',
  retiring: 'Receivers may still verify mail signed with this key. Keep its record for now.',
  retired: 'No mail signed with this key is in transit any more. Its record can be removed.',
}

/** Notes on keys that the server's own DNS server publishes. */
const servedNotes: typeof keyNotes = {
  pending: 'The DNS server of Posthaste publishes it. It signs once it was published for an hour.',
  active: 'Posthaste signs with this key, publishes it and replaces it on schedule.',
  retiring: 'Receivers may still verify mail signed with this key. Posthaste publishes it until then.',
  retired: 'No mail signed with this key is in transit any more. It is no longer published.',
}

/** Formats a DKIM key with its record, without the private key. */
export function presentDkimKey(
  domain: Pick<StoredDomain, 'name'>,
  key: Omit<StoredDkimKey, 'privateKey'>,
): DkimKey {
  return {
    id: key.id,
    selector: key.selector,
    algorithm: key.algorithm,
    state: key.state,
    state_since: timestamp(key.stateSince),
    retires_at: timestampOrNull(key.retireAt),
    created_at: timestamp(key.createdAt),
    fqdn: buildDkimName(key, domain),
    value: buildDkimRecord(key),
    note: (isAliased(key) ? servedNotes : keyNotes)[key.state],
  }
}
