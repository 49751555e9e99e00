// The heat map's layout: groups side by side, cells in a grid, and the lookup from a point to a machine. Pure.

export interface Group {
  readonly title: string
  /** Ids of cells, in order. */
  readonly cells: readonly number[]
}

interface Block extends Group {
  readonly x: number
  readonly y: number
  readonly columns: number
}

export interface Field {
  readonly size: number
  /** Distance from one cell to the next. */
  readonly pitch: number
  readonly width: number
  readonly height: number
  readonly blocks: readonly Block[]
}

export const LABEL_HEIGHT = 18
const BLOCK_GAP = 14
/** Minimum width for a block's title. */
const LABEL_WIDTH = 84
/** Largest first: the first that fits is used. */
const SIZES = [36, 28, 20, 16, 13, 11, 9, 7, 6, 5]
/** Up to this many share one row. */
const FEW_GROUPS = 4
/** A taller picture has to be scrolled, which hides clusters of problems. */
const COMFORTABLE_HEIGHT = 560

const gapOf = (size: number): number => (size > 12 ? 3 : size > 8 ? 2 : 1)

export function fieldOf(groups: readonly Group[], width: number): Field {
  const fields = SIZES.map((size) => laidOut(groups, width, size))
  return fields.find(({ height }) => height <= COMFORTABLE_HEIGHT) ?? fields.at(-1) ?? laidOut([], width, 5)
}

function laidOut(groups: readonly Group[], width: number, size: number): Field {
  const pitch = size + gapOf(size)
  const most = Math.max(1, Math.floor(width / pitch))
  const columns = columnsOf(groups, most, pitch, width)
  const blockWidth = Math.max(columns * pitch, groups.length > 1 ? LABEL_WIDTH : 0)
  let [x, y, rowHeight] = [0, 0, 0]
  const blocks: Block[] = []
  for (const group of groups) {
    const height = LABEL_HEIGHT + Math.ceil(group.cells.length / columns) * pitch
    if (x > 0 && x + blockWidth > width) {
      x = 0
      y += rowHeight + BLOCK_GAP
      rowHeight = 0
    }
    blocks.push({ ...group, x, y, columns })
    rowHeight = Math.max(rowHeight, height)
    x += blockWidth + BLOCK_GAP
  }
  return { size, pitch, width, height: y + rowHeight, blocks }
}

/** All blocks have the same width, so that their heights are comparable. */
function columnsOf(groups: readonly Group[], most: number, pitch: number, width: number): number {
  const largest = Math.max(1, ...groups.map(({ cells }) => cells.length))
  if (groups.length <= 1) return most
  // A few groups share the width; many are about square.
  const shared = Math.floor((width - BLOCK_GAP * (groups.length - 1)) / groups.length / pitch)
  const square = Math.ceil(Math.sqrt(largest * 1.6))
  const labeled = Math.max(square, Math.floor(LABEL_WIDTH / pitch))
  return Math.max(1, Math.min(most, groups.length <= FEW_GROUPS ? Math.min(Math.max(shared, 1), labeled) : labeled))
}

export interface Place {
  readonly x: number
  readonly y: number
}

/** The upper left corner of each cell, by id. */
export function placesOf({ blocks, pitch }: Field): ReadonlyMap<number, Place> {
  const places = new Map<number, Place>()
  for (const { cells, x, y, columns } of blocks) {
    cells.forEach((id, i) => {
      places.set(id, { x: x + (i % columns) * pitch, y: y + LABEL_HEIGHT + Math.floor(i / columns) * pitch })
    })
  }
  return places
}

/** The cell under a point. */
export function cellAt({ blocks, pitch }: Field, px: number, py: number): number | undefined {
  for (const { cells, x, y, columns } of blocks) {
    const column = Math.floor((px - x) / pitch)
    const row = Math.floor((py - y - LABEL_HEIGHT) / pitch)
    if (column < 0 || column >= columns || row < 0) continue
    const id = cells[row * columns + column]
    if (id !== undefined) return id
  }
  return undefined
}

export type Move = 'left' | 'right' | 'up' | 'down' | 'first' | 'last' | 'nextGroup' | 'previousGroup'

/** The cell that a key moves to; the same one at an edge. */
export function moved(field: Field, id: number | undefined, move: Move): number | undefined {
  const { blocks } = field
  const full = blocks.filter(({ cells }) => cells.length > 0)
  const b = full.findIndex(({ cells }) => id !== undefined && cells.includes(id))
  const block = full[b]
  if (block === undefined || id === undefined) return full[0]?.cells[0]
  const i = block.cells.indexOf(id)
  switch (move) {
    case 'left':
      return block.cells[i - 1] ?? full[b - 1]?.cells.at(-1) ?? id
    case 'right':
      return block.cells[i + 1] ?? full[b + 1]?.cells[0] ?? id
    case 'up':
      return block.cells[i - block.columns] ?? above(full, block, i, -1) ?? id
    case 'down':
      return block.cells[i + block.columns] ?? above(full, block, i, 1) ?? id
    case 'first':
      return block.cells[0] ?? id
    case 'last':
      return block.cells.at(-1) ?? id
    case 'nextGroup':
      return full[b + 1]?.cells[0] ?? id
    case 'previousGroup':
      return full[b - 1]?.cells[0] ?? id
    default:
      return move satisfies never
  }
}

/** The cell in the next block above or below, in about the same column. */
function above(blocks: readonly Block[], from: Block, i: number, sign: 1 | -1): number | undefined {
  const next = blocks
    .filter(({ x, y }) => x === from.x && Math.sign(y - from.y) === sign)
    .toSorted((a, b) => sign * (a.y - b.y))[0]
  if (next === undefined) return undefined
  const column = i % from.columns
  const lastRow = Math.floor((next.cells.length - 1) / next.columns)
  const place = (sign === 1 ? 0 : lastRow) * next.columns + column
  return next.cells[Math.min(place, next.cells.length - 1)]
}
