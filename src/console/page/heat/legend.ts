// The heat map's legend: each shade's meaning and machine count. A click shows only those machines.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useApp } from '../app.ts'
import { spaced } from '../parts/mark.ts'
import { count } from '../parts/time.ts'
import { hrefOf, withParams } from '../router.ts'
import type { Shade } from './colors.ts'
import { drawSample } from './draw.ts'
import type { Machines, Wanted } from './machines.ts'

/** Rarer values are only in the table. */
const MOST_SHADES = 16

export function Legend({ cells, wanted }: { readonly cells: Machines; readonly wanted: Wanted }): VNode {
  const { route } = useApp()
  const shades = cells.shades.slice(0, MOST_SHADES)
  return h(
    'ul',
    { class: 'legend', 'aria-label': 'Legend' },
    shades.map((shade) => {
      const isChosen = wanted.only === shade.name
      return h(
        'li',
        { key: shade.name },
        h(Sample, { shade }),
        h(
          'a',
          {
            href: hrefOf(withParams(route, { only: isChosen ? '' : shade.name })),
            ...(isChosen && { 'aria-current': 'true' }),
          },
          wanted.coloring === 'phase' ? spaced(shade.name) : shade.name,
        ),
        h('span', { class: 'soft' }, count(cells.counts.get(shade.name) ?? 0)),
      )
    }),
    cells.shades.length > MOST_SHADES && h('li', { class: 'soft' }, `and ${cells.shades.length - MOST_SHADES} rarer`),
  )
}

function Sample({ shade }: { readonly shade: Shade }): VNode {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const draw = (): void => void (canvas.current && drawSample(canvas.current, shade))
    draw()
    return onThemeChange(draw)
  }, [shade.color, shade.pattern, shade.isPale])
  return h('canvas', { ref: canvas, 'aria-hidden': 'true' })
}

/** Colors come from the style sheet, so redraw when the theme changes. */
export function onThemeChange(draw: () => void): () => void {
  const media = matchMedia('(prefers-color-scheme: dark)')
  media.addEventListener('change', draw)
  const observer = new MutationObserver(draw)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-look'] })
  return () => {
    media.removeEventListener('change', draw)
    observer.disconnect()
  }
}
