// The page of the figures that conditions on a replay or a simulation may name.
import { code, join, table } from '#api/gen/markdown.ts'
import { BACKTEST_FIGURES } from '#forecast/backtest/gate.ts'
import { SIMULATION_FIGURES } from '#forecast/simulation/figures.ts'

export const FIGURES_PAGE = 'docs/reference/figures.md'

export const figuresPage = (): string =>
  join([
    '# Figures of replays and simulations',
    '<!-- Generated from src/forecast by npm run gen. -->',
    'Conditions compare these with numbers or percentages (`>`, `<`, `>=`, `<=`, `==`, `!=`), joined by `and`, `or` and `not`. A share, such as `budget.share` or `own.zone`, is compared with a percentage, everything else with a number.',
    '## Of a replay',
    'For `kubenode rules backtest --fail-on`: [a change of rules, replayed](../operations/backtest.md).',
    rows(BACKTEST_FIGURES),
    '## Of a simulation',
    'For `expect` of a scenario of `kubenode simulate`: [a commit, tried while things break](../operations/simulate.md).',
    rows(SIMULATION_FIGURES),
  ])

const rows = (figures: Readonly<Record<string, string>>): string =>
  table(
    ['figure', 'meaning'],
    Object.entries(figures).map(([name, meaning]) => [code(name), meaning]),
  )
