/** API calls for the reputation of domains. */
import type { DomainReputation } from '../../../appliance/api/reputation.ts'
import { read } from './client.ts'

export type { DomainReputation }

export const getDomainReputation = (domain: string, days: number, signal?: AbortSignal) =>
  read<DomainReputation>(`/domains/${encodeURIComponent(domain)}/reputation?days=${days}`, signal)
