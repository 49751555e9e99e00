// A table: sortable by column, paged, with `j` and `k` to move between rows; on a phone each row is a card. Its state is in the address.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useApp } from '../app.ts'
import { hrefOf, withParams } from '../router.ts'

interface Column<R> {
  readonly id: string
  readonly title: string
  readonly of: (row: R) => ComponentChildren
  /** The column's sort key; without it the column is not sortable. */
  readonly by?: (row: R) => string | number
  readonly isNumber?: boolean
  /** Short enough never to wrap, such as a zone name. */
  readonly isWhole?: boolean
  /** Buttons, which not every user has: the style sheet hides the column where no row has one. */
  readonly isAct?: boolean
}

interface Props<R> {
  readonly caption: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  readonly idOf: (row: R) => string
  readonly href?: (row: R) => string | undefined
  /** Distinguishes the parameters of two tables in one view. */
  readonly prefix?: string
  readonly empty?: string
  /** The caption is the heading above it, for eyes. */
  readonly hasHeading?: boolean
  /** Figures, values and what they mean: closer together on a phone. */
  readonly hasMeanings?: boolean
}

/** More rows make a page slow on a phone. */
const PAGE = 100

export function Table<R>(props: Props<R>): VNode {
  const {
    caption,
    columns: all,
    rows,
    idOf,
    href,
    prefix = '',
    empty = 'none',
    hasHeading = false,
    hasMeanings = false,
  } = props
  const { route, go } = useApp()
  const sort = route.params[`${prefix}sort`] ?? ''
  const columns = all.filter((column, n) => n === 0 || rows.some((row) => !isEmpty(column.of(row))))
  const page = Number(route.params[`${prefix}page`] ?? 1)
  const pages = Math.max(1, Math.ceil(rows.length / PAGE))
  const visible = sorted(rows, columns, sort).slice((page - 1) * PAGE, page * PAGE)
  const at = (n: number) => hrefOf(withParams(route, { [`${prefix}page`]: n === 1 ? '' : String(n) }))
  if (rows.length === 0) return h('p', { class: 'sheet none soft' }, `${caption}: `, empty)
  return h(
    'div',
    { class: 'sheet' },
    h(
      'div',
      { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': caption },
      h(
        'table',
        { class: hasMeanings ? 'folds meanings' : 'folds' },
        h('caption', { class: hasHeading ? 'off-screen' : '' }, `${caption} (${rows.length})`),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            columns.map((c) =>
              head(c, sort, (id) => go(withParams(route, { [`${prefix}sort`]: id, [`${prefix}page`]: '' }))),
            ),
          ),
        ),
        h(
          'tbody',
          {},
          visible.map((row) =>
            h(
              'tr',
              { key: idOf(row) },
              columns.map((column, c) => cell(column, row, c === 0, href?.(row))),
            ),
          ),
        ),
      ),
    ),
    pages > 1 &&
      h(
        'nav',
        { class: 'row pad', 'aria-label': `Pages of ${caption}` },
        page > 1 && h('a', { href: at(page - 1) }, 'Previous page'),
        h('span', { class: 'soft' }, `Page ${page} of ${pages}`),
        page < pages && h('a', { href: at(page + 1) }, 'Next page'),
      ),
  )
}

function head<R>(column: Column<R>, sort: string, choose: (id: string) => void): VNode {
  const isUp = sort === column.id
  const isDown = sort === `-${column.id}`
  const order = isUp ? 'ascending' : isDown ? 'descending' : 'none'
  const title =
    column.by === undefined
      ? column.title
      : h(
          'button',
          { type: 'button', onClick: () => choose(isUp ? `-${column.id}` : column.id) },
          column.title,
          isUp ? ' ↑' : isDown ? ' ↓' : '',
        )
  return h(
    'th',
    {
      scope: 'col',
      class: column.isNumber === true ? 'number' : column.isAct === true ? 'act' : '',
      ...(column.by !== undefined && { 'aria-sort': order }),
    },
    title,
  )
}

/** A column in which no row has anything is not drawn. */
const isEmpty = (content: ComponentChildren): boolean =>
  content === '' || content === undefined || content === null || content === false

const classOf = <R>({ isNumber, isWhole, isAct }: Column<R>): string =>
  isNumber === true ? 'number' : isWhole === true ? 'name whole' : isAct === true ? 'act' : 'name'

function cell<R>(column: Column<R>, row: R, isFirst: boolean, href: string | undefined): VNode {
  const content = column.of(row)
  if (!isFirst) return h('td', { class: classOf(column), 'data-title': column.title }, h('div', {}, content))
  return h(
    'th',
    { scope: 'row', class: 'name', 'data-title': column.title },
    href === undefined
      ? h('span', { 'data-row': '', tabIndex: -1 }, content)
      : h('a', { 'data-row': '', href }, content),
  )
}

const collator = new Intl.Collator('en', { numeric: true })

export const byName = (a: string, b: string): number => collator.compare(a, b)

/** Without a sort order, rows keep theirs. */
function sorted<R>(rows: readonly R[], columns: readonly Column<R>[], sort: string): readonly R[] {
  const by = columns.find(({ id }) => id === sort.replace(/^-/, ''))?.by
  if (by === undefined) return rows
  const sign = sort.startsWith('-') ? -1 : 1
  return rows.toSorted((a, b) => {
    const [x, y] = [by(a), by(b)]
    return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : byName(String(x), String(y)))
  })
}
