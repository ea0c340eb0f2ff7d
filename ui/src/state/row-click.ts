/**
 * Makes an entire row act as a link. Elements with a tooltip are above the link, so a click on one is forwarded to the
 * link, with the same modifier keys.
 */
const OWN = 'a, button, input, select, label, summary'

document.addEventListener('click', (event) => {
  const { target } = event
  if (event.defaultPrevented || !(target instanceof Element) || target.closest(OWN)) return
  // Selecting text in the row must not open it.
  if (getSelection()?.isCollapsed === false) return
  const link = target.closest('.list tr')?.querySelector('a[data-row]')
  const { button, ctrlKey, metaKey, shiftKey, altKey } = event
  const held = { button, ctrlKey, metaKey, shiftKey, altKey }
  link?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ...held }))
})
