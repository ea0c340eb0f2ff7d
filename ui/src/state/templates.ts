/** Labels of templates. */
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import Check from '@lucide/svelte/icons/check'
import Pencil from '@lucide/svelte/icons/pencil'
import type { TemplateSummary } from '../../../appliance/api/templates.ts'
import type { StatusBadge } from './status.ts'

/** Returns the label of a template: whether it is published, and has unpublished changes. */
export function getTemplateBadge(
  template: Pick<TemplateSummary, 'status' | 'has_unpublished_versions'>,
): StatusBadge {
  if (template.status === 'draft') return { word: 'draft', tone: 'slate', icon: CircleDashed }
  return template.has_unpublished_versions
    ? { word: 'published, with changes', tone: 'amber', icon: Pencil }
    : { word: 'published', tone: 'green', icon: Check }
}

export const TEMPLATE_CHOICES = [
  ['draft', 'Draft'],
  ['published', 'Published'],
] as const
