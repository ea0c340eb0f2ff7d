/** Whether the window has room for a list and what is selected in it, side by side. */
const query = matchMedia('(min-width: 1400px)')
let matches = $state(query.matches)
query.addEventListener('change', () => (matches = query.matches))

export const wide = {
  get value(): boolean {
    return matches
  },
}
