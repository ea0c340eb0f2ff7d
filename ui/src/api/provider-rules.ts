/** API calls for the rules of mailbox providers. */
import type { DomainProviderRules, ProviderRules } from '../../../appliance/api/provider-rules.ts'
import { change, read } from './client.ts'

export const getProviderRules = (signal?: AbortSignal) => read<ProviderRules>('/provider-rules', signal)

export const setProviderRules = (mode: ProviderRules['mode']) =>
  change<ProviderRules>('PUT', '/provider-rules', { mode })

export const getDomainRules = (domain: string, signal?: AbortSignal) =>
  read<DomainProviderRules>(`/domains/${encodeURIComponent(domain)}/provider-rules`, signal)
