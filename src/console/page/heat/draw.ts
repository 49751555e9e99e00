// Draws the heat map with one path per shade and per pattern, so 10,000 cells take a few milliseconds.
import { visible } from '#lib/printable.ts'
import { count } from '../parts/time.ts'
import type { Pattern, Shade } from './colors.ts'
import { placesOf } from './field.ts'
import type { Field, Place } from './field.ts'
import type { Machines } from './machines.ts'

/** Opacity of pale cells, which keep their color. */
const PALE = 0.38

export interface Picture {
  readonly field: Field
  readonly machines: Machines
  readonly active: number | undefined
}

export function draw(canvas: HTMLCanvasElement, { field, machines, active }: Picture): void {
  const context = fitted(canvas, field.width, field.height)
  if (context === null) return
  const style = getComputedStyle(canvas)
  const color = (property: string): string => style.getPropertyValue(property).trim()
  const places = placesOf(field)
  const byShade: Place[][] = machines.shades.map(() => [])
  for (const [id, place] of places) byShade[machines.shadeOf[id] ?? 0]?.push(place)
  machines.shades.forEach((shade, s) => paint(context, shade, byShade[s] ?? [], field.size, color))
  context.font = `500 12px ${style.fontFamily}`
  context.fillStyle = color('--soft')
  context.textBaseline = 'top'
  if (field.blocks.length > 1)
    for (const { title, cells, x, y } of field.blocks) context.fillText(cut(visible(title), cells.length), x, y)
  const place = active === undefined ? undefined : places.get(active)
  if (place === undefined) return
  context.strokeStyle = color('--ink')
  context.lineWidth = 2
  context.strokeRect(place.x - 1.5, place.y - 1.5, field.size + 3, field.size + 3)
}

/** Longer titles would overlap the next block. */
const TITLE_CHARACTERS = 14

const cut = (title: string, machines: number): string => {
  const text = `${title} · ${count(machines)}`
  return text.length <= TITLE_CHARACTERS
    ? text
    : title.length <= TITLE_CHARACTERS
      ? title
      : `${title.slice(0, TITLE_CHARACTERS - 1)}…`
}

/** One cell, for the legend. */
export function drawSample(canvas: HTMLCanvasElement, shade: Shade): void {
  const context = fitted(canvas, 14, 14)
  if (context === null) return
  const style = getComputedStyle(canvas)
  paint(context, shade, [{ x: 1, y: 1 }], 12, (property) => style.getPropertyValue(property).trim())
}

/** An empty canvas at the screen's resolution. */
function fitted(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio
  const [w, h] = [Math.ceil(width * ratio), Math.ceil(height * ratio)]
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w
    canvas.height = h
    canvas.style.width = `${width}px`
    canvas.style.height = `${height}px`
  }
  const context = canvas.getContext('2d')
  context?.setTransform(ratio, 0, 0, ratio, 0, 0)
  context?.clearRect(0, 0, width, height)
  return context
}

function paint(
  context: CanvasRenderingContext2D,
  { color, pattern, isPale }: Shade,
  places: readonly Place[],
  size: number,
  colorOf: (property: string) => string,
): void {
  if (places.length === 0) return
  const fill = colorOf(color)
  if (pattern === 'ring') {
    context.strokeStyle = fill
    context.lineWidth = Math.max(1, size / 8)
    const inset = context.lineWidth / 2
    context.beginPath()
    for (const { x, y } of places) context.rect(x + inset, y + inset, size - 2 * inset, size - 2 * inset)
    context.stroke()
    return
  }
  context.globalAlpha = isPale ? PALE : 1
  context.fillStyle = fill
  context.beginPath()
  for (const { x, y } of places) context.rect(x, y, size, size)
  context.fill()
  context.globalAlpha = 1
  if (pattern === 'plain') return
  context.strokeStyle = colorOf('--sheet')
  context.fillStyle = colorOf('--sheet')
  context.lineWidth = Math.max(1, size / 7)
  context.beginPath()
  for (const { x, y } of places) stroke(context, pattern, x, y, size)
  if (pattern === 'dot') context.fill()
  else context.stroke()
}

function stroke(context: CanvasRenderingContext2D, pattern: Pattern, x: number, y: number, size: number): void {
  const near = size * 0.22
  const far = size - near
  if (pattern === 'dot') context.rect(x + size * 0.33, y + size * 0.33, size * 0.34, size * 0.34)
  if (pattern === 'bar') {
    context.moveTo(x + near, y + size / 2)
    context.lineTo(x + far, y + size / 2)
  }
  if (pattern === 'stripe' || pattern === 'cross') {
    context.moveTo(x + near, y + far)
    context.lineTo(x + far, y + near)
  }
  if (pattern === 'back' || pattern === 'cross') {
    context.moveTo(x + near, y + near)
    context.lineTo(x + far, y + far)
  }
}
