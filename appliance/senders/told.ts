/** What webhooks are told of a sending domain. Pure. */
import type { ToldDomain } from '../mail/event.ts'
import type { Domain } from '../storage/storage.ts'
import { isAdvised } from './advised.ts'
import type { ExpectedRecord } from './records.ts'

/** A domain and the records that it takes to send; DMARC is advice, and the wire format has no such record. */
export function toldDomain(domain: Domain, records: readonly ExpectedRecord[]): ToldDomain {
  const { id, name, status, region, createdAt, sending, receiving, checks } = domain
  return {
    ...{ id, name, status, region, createdAt, sending, receiving },
    records: records
      .filter(({ record }) => record !== 'DMARC')
      .map(({ key, record, name: owner, type, value, priority }) => ({
        ...{ record, name: owner, type, value, priority },
        status: checks.find((check) => check.key === key)?.status ?? 'not_started',
      })),
  }
}

/** Whether an app would want to know: the domain or one of its records has another status. */
export function isNews(before: Domain, after: Pick<Domain, 'status' | 'checks'>): boolean {
  if (before.status !== after.status) return true
  const statuses = ({ checks }: Pick<Domain, 'checks'>) => new Map(checks.map((one) => [one.key, one.status]))
  const [old, fresh] = [statuses(before), statuses(after)]
  return [...fresh].some(([key, status]) => !isAdvised(key) && (old.get(key) ?? 'not_started') !== status)
}
