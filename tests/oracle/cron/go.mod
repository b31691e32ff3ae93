module tiphys/oracle/cron

go 1.24.10

require github.com/robfig/cron/v3 v3.0.1
