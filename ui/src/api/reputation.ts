/** API calls for the reputation of domains and sending IPs. */
import type { DomainReputation, SourceReputation } from '../../../appliance/api/reputation.ts'
import { read } from './client.ts'

export type { DomainReputation, SourceReputation }

export const getDomainReputation = (domain: string, days: number, signal?: AbortSignal) =>
  read<DomainReputation>(`/domains/${encodeURIComponent(domain)}/reputation?days=${days}`, signal)

export const getSourceReputation = (ip: string, days: number, signal?: AbortSignal) =>
  read<SourceReputation>(`/sources/${encodeURIComponent(ip)}/reputation?days=${days}`, signal)
