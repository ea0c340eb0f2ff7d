/** The public module of automations and of the custom events that start them. */
export { createCustomEvents, type CustomEvents } from './custom-events.ts'
