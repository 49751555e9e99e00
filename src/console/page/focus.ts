// Keeps the focus on the page: if its element is removed, by a fleet change or its own action, the focus moves to the next row, else to the view's title.

/** Where a screen reader starts in a new view. */
export const toTitle = (): void => document.querySelector<HTMLElement>('h1')?.focus()

export const rowsOfView = (): readonly HTMLElement[] => [...document.querySelectorAll<HTMLElement>('[data-row]')]

/** Only a keyboard needs to see that the title has the focus: a view that was opened with a pointer shows no ring there. */
export function followInput(): void {
  const by = (name: string) => (): void => void (document.documentElement.dataset['by'] = name)
  addEventListener('pointerdown', by('pointer'), { capture: true })
  addEventListener('keydown', by('keys'), { capture: true })
}

/** A dialog manages and returns the focus itself. */
export function keepFocus(page: Element): void {
  let kept: { readonly element: Element; readonly row: number } | undefined
  // A user who clicks elsewhere or leaves a field moves the focus on purpose.
  const forget = (): void => (kept = undefined)
  addEventListener('pointerdown', forget, { capture: true })
  addEventListener('keydown', ({ key }) => key === 'Escape' && forget(), { capture: true })
  addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return
    kept = { element: target, row: 'row' in target.dataset ? rowsOfView().indexOf(target) : -1 }
  })
  const check = (): void => {
    if (kept === undefined || kept.element.isConnected) return
    const { row } = kept
    kept = undefined
    if (document.activeElement !== document.body || document.querySelector('dialog[open]') !== null) return
    const rows = row === -1 ? [] : rowsOfView()
    const next = rows[Math.min(row, rows.length - 1)]
    if (next === undefined) toTitle()
    else next.focus()
  }
  new MutationObserver(check).observe(page, { childList: true, subtree: true })
}
