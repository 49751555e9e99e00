// A small typed builder for Grafana dashboards: what our boards use and nothing else. The result is the JSON that Grafana imports.
export interface Query {
  readonly expr: string
  /** As Grafana writes it: {{pool}}. */
  readonly legend: string
}

export type Unit = 'short' | 'percentunit' | 's' | 'bytes' | 'ops'

export interface Panel {
  readonly title: string
  readonly kind: 'timeseries' | 'stat' | 'table' | 'bargauge'
  readonly unit: Unit
  readonly queries: readonly Query[]
  /** What the figure means, and what to do about it. */
  readonly description: string
  /** Of 24. */
  readonly width?: number
}

export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

export interface Board {
  readonly uid: string
  readonly title: string
  readonly rows: readonly Row[]
}

const COLUMNS = 24
const HEIGHT = 8
const DEFAULT_WIDTH = 8
/** Of the format that Grafana 10 and later read. */
const SCHEMA = 39
/** "A". */
const FIRST_REF = 65
const SOURCE = { type: 'prometheus', uid: '${source}' }

/** Every query may name it: the clusters that the reader chose. */
export const OF_CLUSTER = 'cluster=~"$cluster"'

export function dashboardJson({ uid, title, rows }: Board): object {
  const panels: object[] = []
  let [y, id] = [0, 1]
  for (const row of rows) {
    panels.push({
      type: 'row',
      id: id++,
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    })
    y += 1
    let x = 0
    for (const panel of row.panels) {
      const w = panel.width ?? DEFAULT_WIDTH
      if (x + w > COLUMNS) {
        x = 0
        y += HEIGHT
      }
      panels.push(panelJson(panel, id++, { x, y, w, h: HEIGHT }))
      x += w
    }
    y += HEIGHT
  }
  return {
    uid,
    title,
    tags: ['kubenode'],
    schemaVersion: SCHEMA,
    version: 1,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'source', type: 'datasource', query: 'prometheus', label: 'Data source' },
        {
          name: 'cluster',
          type: 'query',
          label: 'Cluster',
          datasource: SOURCE,
          query: { query: 'label_values(kubenode_leader, cluster)', refId: 'cluster' },
          refresh: 2,
          multi: true,
          includeAll: true,
          allValue: '.*',
        },
      ],
    },
    panels,
  }
}

const panelJson = ({ title, kind, unit, queries, description }: Panel, id: number, gridPos: object): object => ({
  id,
  type: kind,
  title,
  description,
  gridPos,
  datasource: SOURCE,
  fieldConfig: { defaults: { unit }, overrides: [] },
  options: kind === 'timeseries' ? { legend: { displayMode: 'list', placement: 'bottom' } } : {},
  targets: queries.map(({ expr, legend }, n) => ({
    refId: String.fromCodePoint(FIRST_REF + n),
    datasource: SOURCE,
    expr,
    legendFormat: legend,
    // A table and a number show the present, a line its way there.
    instant: kind !== 'timeseries',
    range: kind === 'timeseries',
    ...(kind === 'table' && { format: 'table' }),
  })),
})
