/** Labels of automations, runs and the steps of runs. */
import Ban from '@lucide/svelte/icons/ban'
import Check from '@lucide/svelte/icons/check'
import CircleDashed from '@lucide/svelte/icons/circle-dashed'
import Clock from '@lucide/svelte/icons/clock'
import Hourglass from '@lucide/svelte/icons/hourglass'
import ListPlus from '@lucide/svelte/icons/list-plus'
import Mail from '@lucide/svelte/icons/mail'
import Minus from '@lucide/svelte/icons/minus'
import Pause from '@lucide/svelte/icons/pause'
import Play from '@lucide/svelte/icons/play'
import Split from '@lucide/svelte/icons/split'
import TriangleAlert from '@lucide/svelte/icons/triangle-alert'
import UserPen from '@lucide/svelte/icons/user-pen'
import UserX from '@lucide/svelte/icons/user-x'
import Zap from '@lucide/svelte/icons/zap'
import type { AutomationRun, AutomationSummary } from '../../../appliance/api/automations.ts'
import type { RunStatus, StepType } from '../../../appliance/mail/automation.ts'
import type { StatusBadge } from './status.ts'

/** Returns the label of an automation's status. */
export function getAutomationBadge({
  status,
  stop_reason: reason,
}: Pick<AutomationSummary, 'status' | 'stop_reason'>): StatusBadge {
  if (status === 'enabled') return { word: 'enabled', tone: 'green', icon: Check }
  return reason === null
    ? { word: 'disabled', tone: 'slate', icon: Pause }
    : { word: 'stopped', tone: 'red', icon: TriangleAlert }
}

/** Icons of steps. */
export const STEP_ICONS: Record<StepType, StatusBadge['icon']> = {
  trigger: Zap,
  send_email: Mail,
  delay: Clock,
  wait_for_event: Hourglass,
  condition: Split,
  contact_update: UserPen,
  contact_delete: UserX,
  add_to_segment: ListPlus,
}

export const AUTOMATION_CHOICES = [
  ['enabled', 'Enabled'],
  ['disabled', 'Disabled'],
] as const

const FAILED: StatusBadge = { word: 'failed', tone: 'red', icon: TriangleAlert }
const COMPLETED: StatusBadge = { word: 'completed', tone: 'green', icon: Check }
const RUNNING: StatusBadge = { word: 'running', tone: 'blue', icon: Play }

/** Labels of runs. */
export const RUN_BADGES: Record<RunStatus, StatusBadge> = {
  running: RUNNING,
  completed: COMPLETED,
  failed: FAILED,
  cancelled: { word: 'canceled', tone: 'slate', icon: Ban },
}

/** Values and labels of the status filter of runs. */
export const RUN_CHOICES = [
  ['', 'All'],
  ['running', 'Running'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['cancelled', 'Canceled'],
] as const

/** Labels of the steps of a run. */
export const RUN_STEP_BADGES: Record<AutomationRun['steps'][number]['status'], StatusBadge> = {
  pending: { word: 'pending', tone: 'slate', icon: CircleDashed },
  waiting: { word: 'waiting', tone: 'blue', icon: Clock },
  running: RUNNING,
  completed: COMPLETED,
  failed: FAILED,
  skipped: { word: 'skipped', tone: 'slate', icon: Minus },
}
