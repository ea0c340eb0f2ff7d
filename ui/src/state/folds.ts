import { close, go, router, withQuery } from './router.svelte.ts'

/**
 * Expands or collapses an entry. The ids of expanded entries are in the address, so that links show the same transcript
 * and "Back" collapses the last one.
 */
export function toggle(id: string): void {
  const open = new Set((router.query.get('open') ?? '').split(',').filter((part) => part !== ''))
  const unfolded = open.delete(id)
  if (!unfolded) open.add(id)
  const to = withQuery({ open: open.size === 0 ? null : [...open].join(',') })
  if (unfolded) close(to)
  else go(to)
}
