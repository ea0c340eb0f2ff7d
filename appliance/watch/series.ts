/** Makes series of one registry, all with the name of the program in front. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export interface SeriesOf {
  counter: <L extends string>(name: string, help: string, labels?: L[]) => Counter<L>
  gauge: <L extends string>(name: string, help: string, labels?: L[]) => Gauge<L>
  /** @param buckets upper bounds, in seconds */
  histogram: <L extends string>(name: string, help: string, buckets: number[], labels?: L[]) => Histogram<L>
}

/** Counters, gauges and histograms of a registry. */
export function seriesOf(registry: Registry): SeriesOf {
  const registers = [registry]
  return {
    counter: (name, help, labelNames = []) =>
      new Counter({ name: `posthaste_${name}`, help, labelNames, registers }),
    gauge: (name, help, labelNames = []) =>
      new Gauge({ name: `posthaste_${name}`, help, labelNames, registers }),
    histogram: (name, help, buckets, labelNames = []) =>
      new Histogram({ name: `posthaste_${name}`, help, buckets, labelNames, registers }),
  }
}
