// How the remedy controller tells the job controller that a repair which has not begun gives way: an annotation on the job, the name of the higher rule.

export const SUPERSEDED_BY = 'kubenode.io/superseded-by'
