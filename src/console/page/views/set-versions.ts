// The versions of a set's components side by side: on how many machines each runs, and what is wrong there.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import type { VersionCount } from '../../set-topics.ts'
import { Table } from '../parts/table.ts'
import { count } from '../parts/time.ts'
import { Version } from '../parts/version.ts'
import { to } from '../router.ts'

interface Props {
  readonly rows: readonly VersionCount[]
  readonly cluster: string
}

/** `2 (40 %)`: the numbers of machines differ, so only shares compare. */
const shareOf = (n: number, of: number): string =>
  n === 0 ? '0' : `${count(n)} (${Math.round((n / Math.max(1, of)) * 100)} %)`

export function Versions({ rows, cluster }: Props): VNode {
  const { route } = useApp()
  const hrefOf = ({ component, version }: VersionCount): string =>
    to(route, 'machines', {
      cluster,
      params: { color: 'version', component, only: version ?? 'Not installed' },
    })
  return h(Table<VersionCount>, {
    caption: 'Versions side by side',
    prefix: 'versions-',
    rows,
    idOf: ({ component, version }) => `${component} ${version ?? ''}`,
    href: hrefOf,
    columns: [
      {
        id: 'version',
        title: 'Version',
        of: ({ component, version }) =>
          version === undefined ? `${component}: none` : h(Version, { name: component, version }),
        by: ({ component, version }) => `${component} ${version ?? ''}`,
        isWhole: true,
      },
      { id: 'role', title: 'Role', of: ({ isDeclared }) => (isDeclared ? 'declared' : 'to be replaced') },
      { id: 'machines', title: 'Machines', isNumber: true, of: (v) => count(v.machines), by: (v) => v.machines },
      { id: 'ready', title: 'Ready', isNumber: true, of: (v) => shareOf(v.ready, v.machines), by: (v) => v.ready },
      {
        id: 'failing',
        title: 'Component fails',
        isNumber: true,
        of: (v) => shareOf(v.failing, v.machines),
        by: (v) => v.failing,
      },
      {
        id: 'back',
        title: 'Rolled back',
        isNumber: true,
        of: (v) => (v.isDeclared ? count(v.wentBack) : ''),
        by: (v) => v.wentBack,
      },
      { id: 'silent', title: 'Silent', isNumber: true, of: (v) => shareOf(v.silent, v.machines), by: (v) => v.silent },
    ],
  })
}
