// The numbered errors of bench.
import { errorTable } from '#lib/error-table.ts'

export const benchErrors = errorTable({
  KN9001: {
    text: 'cannot run {name}',
    next: 'use one of: {names}',
  },
  KN9002: {
    text: 'cannot read the argument {arg}',
    next: 'write name=number',
  },
  KN9003: {
    text: 'cannot report {key} of benchmark {name}: it is {value}',
    next: 'repair bench/{name}.ts',
  },
  KN9004: {
    text: 'the benchmark failed: {why}',
    next: 'repair it, or what it measures',
  },
  KN9020: {
    text: 'the local fleet {how}',
    next: 'it said last: {said}',
  },
})
