import { closeView, go, router, buildQueryPath } from './router.svelte.ts'

/**
 * Expands or collapses an entry. The address contains the IDs of expanded entries, so that links show the same
 * transcript and "Back" collapses the last one.
 */
export function toggleEntry(id: string): void {
  const open = new Set((router.query.get('open') ?? '').split(',').filter((part) => part !== ''))
  const unfolded = open.delete(id)
  if (!unfolded) open.add(id)
  const to = buildQueryPath({ open: open.size === 0 ? null : [...open].join(',') })
  if (unfolded) closeView(to)
  else go(to)
}
