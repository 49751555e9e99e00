// A clock that differs from the API server's, as the agent measures it: the same repair as for what a check of the time service says.
import { timeSkew } from './time-skew.ts'

export const clockSkewed = (keeper: string) => timeSkew(keeper, 'ClockSkewed')
